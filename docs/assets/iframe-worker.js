// Browsers run no worker for a page that is opened from a file. There the search's runs in a frame, which talks to the page as a worker would.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.ready = new Promise((loaded) => { this.loaded = loaded })
      addEventListener("message", (event) => this.hear(event))
      this.inside.document.write(`<script>
        postMessage = (data) => parent.postMessage(data, "*")
        importScripts = (...names) => names.reduce((before, name) => before.then(() => new Promise((next) => {
          const script = document.createElement("script")
          script.src = name
          script.onload = next
          document.body.append(script)
        })), Promise.resolve())
      </` + `script><body><script src="${address}"></` + `script>`)
      this.inside.document.close()
      this.inside.onload = this.loaded
    }

    hear(event) {
      if (event.source !== this.inside) return
      const heard = new MessageEvent("message", { data: event.data })
      this.dispatchEvent(heard)
      this.onmessage?.(heard)
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
