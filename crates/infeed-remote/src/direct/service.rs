//! What object_store sends its requests with: those for bodies go the direct way.

use super::{Answered, Direct, Received};
use http::Response;
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
        ReqwestConnector,
    },
};
use std::sync::{Arc, Mutex};

/// Marks a request whose body is wanted. Of its answer, it has the body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted(Arc<Mutex<Option<Received>>>);

impl Wanted {
    fn with(body: Received) -> Self {
        Wanted(Arc::new(Mutex::new(Some(body))))
    }

    /// Takes the body.
    pub(crate) fn take(&self) -> Option<Received> {
        infeed_core::Hold::hold(&*self.0).take()
    }
}

/// Makes the clients of object_store.
#[derive(Debug)]
pub(crate) struct Connector {
    direct: Option<Arc<Direct>>,
}

impl Connector {
    pub(crate) fn new(direct: Option<Direct>) -> Self {
        Connector { direct: direct.map(Arc::new) }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let library = ReqwestConnector::default().connect(options)?;
        Ok(match &self.direct {
            Some(direct) => HttpClient::new(Service { direct: Arc::clone(direct), library }),
            None => library,
        })
    }
}

#[derive(Debug)]
struct Service {
    direct: Arc<Direct>,
    library: HttpClient,
}

#[async_trait::async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if request.extensions().get::<Wanted>().is_none() {
            return self.library.execute(request).await;
        }
        let answered = self.direct.get(request.uri(), request.headers()).await;
        let (status, headers, bytes, body) =
            match answered.map_err(|e| HttpError::new(HttpErrorKind::Interrupted, e))? {
                Answered::Body(status, headers, body) => (status, headers, bytes::Bytes::new(), Some(body)),
                Answered::Message(status, headers, bytes) => (status, headers, bytes, None),
                Answered::NotHere => return self.library.execute(request).await,
            };
        let mut response = Response::new(bytes.into());
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        if let Some(body) = body {
            response.extensions_mut().insert(Wanted::with(body));
        }
        Ok(response)
    }
}
