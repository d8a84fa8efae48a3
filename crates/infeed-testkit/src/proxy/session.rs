//! One connection of a client: request after request.

use super::{
    config::{Config, Shared},
    control,
    flow::{Ambush, Flow, Stop, upload},
    head::{Framing, Head},
    life::Socket,
    pace::Pace,
    plan::{Fault, Plan},
    server::Answer,
    sys::{Pipe, reset_on_close},
    wire::Wire,
};
use std::{
    io::{self, Write},
    net::Shutdown,
    sync::Arc,
};

/// What belongs to a connection.
struct Session<'a> {
    shared: &'a Shared,
    client: Wire,
    pipe: Option<Pipe>,
    /// The link of this connection, as long as the options stay the same.
    link: Option<(Arc<Config>, Option<Pace>)>,
}

/// Serves a client until it or a fault ends the connection.
pub(super) fn serve(shared: &Shared, socket: Socket) {
    let mut session = Session { shared, client: Wire::new(socket), pipe: None, link: None };
    match session.run() {
        Stop::Reset => reset_on_close(&session.client.socket),
        Stop::Close => {
            let _ = session.client.socket.shutdown(Shutdown::Write);
        }
    }
}

impl Session<'_> {
    fn run(&mut self) -> Stop {
        loop {
            let request = match self.client.head() {
                Ok(Some(request)) => request,
                Ok(None) | Err(_) => return Stop::Close,
            };
            match self.request(&request) {
                Ok(true) => {}
                Ok(false) => return Stop::Close,
                Err(stop) => return stop,
            }
        }
    }

    /// Answers a request. Returns whether the connection stays open.
    fn request(&mut self, request: &Head) -> Result<bool, Stop> {
        let (_, target, version) = request.request()?;
        let keep = request.keeps_alive(version);
        let framing = request.request_framing()?;
        if request.get("Expect").is_some() {
            (&*self.client.socket).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        if target.starts_with(control::PREFIX) {
            let (status, body) = control::answer(self.shared, request, &mut self.client)?;
            self.own_answer(request, status, "application/json", &body, keep)?;
            return Ok(keep);
        }
        let shared = self.shared;
        let config = shared.config();
        let key = request.key()?;
        let ticket = shared.counters.request(config.counts_keys().then_some(key.as_str()));
        let plan = config.plan(&ticket, &key);
        if plan.slow {
            shared.counters.tail();
        }
        shared.life.sleep(plan.delay);
        match plan.fault {
            Some(fault @ Fault::EarlyReset) => {
                shared.counters.fault(fault);
                Err(Stop::Reset)
            }
            Some(fault @ Fault::Error(status)) => {
                shared.counters.fault(fault);
                upload(&mut self.client, framing, None)?;
                let body = control::error_body(status, target);
                shared.counters.answer(status);
                self.own_answer(request, status, "application/xml", body.as_bytes(), keep)?;
                Ok(keep)
            }
            _ => self.pass(request, framing, &config, &plan, keep),
        }
    }

    /// Sends the request to the server and its answer to the client.
    fn pass(
        &mut self,
        request: &Head,
        framing: Framing,
        config: &Arc<Config>,
        plan: &Plan,
        keep: bool,
    ) -> Result<bool, Stop> {
        let shared = self.shared;
        let (mut answer, happened) = match self.ask(&request.for_server()?, framing, plan.fault) {
            Ok(answer) => answer,
            Err(error) => {
                shared.counters.answer(502);
                let text = format!("the server behind the proxy does not answer: {error}");
                // What is left of the request's body would be taken for the next request.
                self.own_answer(request, 502, "text/plain", text.as_bytes(), false)?;
                return Ok(false);
            }
        };
        let ambush = plan
            .fault
            .filter(|fault| fault.needs_body() && has_body(request, &answer))
            .map(|fault| Ambush::new(fault, answer.framing, plan.place, config.stall()));
        if plan.fault.is_some() && !happened && ambush.is_none() {
            shared.counters.missed();
            config.give_back();
        }
        let keep = keep && answer.framing != Framing::UntilClose;
        let head = answer.head.for_client(keep)?;
        shared.counters.answer(answer.status);
        self.renew_link(config);
        let flow = Flow {
            to: &self.client.socket,
            paces: [config.total.as_ref(), self.link.as_ref().and_then(|(_, pace)| pace.as_ref())],
            counters: &shared.counters,
            life: &shared.life,
            pipe: &mut self.pipe,
            ambush,
            pending: head.bytes(),
            position: 0,
        };
        flow.run(&mut answer.wire, answer.framing)?;
        shared.server.keep(answer);
        Ok(keep)
    }

    /// The answer of the server, and whether a fault has changed it.
    fn ask(&mut self, request: &Head, framing: Framing, fault: Option<Fault>) -> io::Result<(Answer, bool)> {
        let server = &self.shared.server;
        if framing != Framing::Length(0) {
            return Ok((server.send(request, &mut self.client, framing)?, false));
        }
        let get = request.request()?.0 == "GET" && request.range_field().is_some();
        let Some(fault) = fault.filter(|fault| fault.needs_range() && get) else {
            return Ok((server.ask(request)?, false));
        };
        let changed = match fault {
            Fault::WrongBytes => server.ask_elsewhere(request)?,
            Fault::Whole => server.ask_whole(request)?,
            _ => Some(server.ask(request)?).and_then(named_elsewhere),
        };
        match changed {
            Some(answer) => {
                self.shared.counters.fault(fault);
                Ok((answer, true))
            }
            None => Ok((server.ask(request)?, false)),
        }
    }

    fn renew_link(&mut self, config: &Arc<Config>) {
        if !self.link.as_ref().is_some_and(|(own, _)| Arc::ptr_eq(own, config)) {
            self.link = Some((Arc::clone(config), config.link()));
        }
    }

    fn own_answer(
        &mut self,
        request: &Head,
        status: u16,
        kind: &str,
        body: &[u8],
        keep: bool,
    ) -> io::Result<()> {
        let mut bytes = Head::answer(status, kind, body.len()).for_client(keep)?.bytes();
        if request.request()?.0 != "HEAD" {
            bytes.extend(body);
        }
        (&*self.client.socket).write_all(&bytes)
    }
}

/// The answer with a head that names the bytes behind those it brings.
fn named_elsewhere(mut answer: Answer) -> Option<Answer> {
    let (range, size) = answer.head.content_range()?;
    let length = (range.end() - range.start()).checked_add(1)?;
    let (first, last) = (range.start().checked_add(length)?, range.end().checked_add(length)?);
    let claim = format!("bytes {first}-{last}{size}");
    answer.head.set("Content-Range", claim);
    Some(answer)
}

fn has_body(request: &Head, answer: &Answer) -> bool {
    let get = request.request().is_ok_and(|(method, ..)| method == "GET");
    get && (200..300).contains(&answer.status) && answer.framing != Framing::Length(0)
}
