// Search runs in a worker, which browsers refuse for pages that are opened as files. A hidden frame does the same work there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inner = frame.contentWindow
      this.inner.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      const script = this.inner.document.createElement("script")
      script.src = new URL(url, location.href).href
      // What is asked before the script is there waits for it.
      this.ready = new Promise(done => { script.onload = done })
      this.inner.document.body.appendChild(script)
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })))
    }
  }
}
