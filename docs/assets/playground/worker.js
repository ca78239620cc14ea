// Python and normlint, away from the page. The first message says where they are; each other one is a text to look at.
let look

self.onmessage = async ({ data }) => {
  try {
    if (look) self.postMessage({ said: JSON.parse(look(data)) })
    else {
      look = await load(data)
      self.postMessage({ ready: true })
    }
  } catch (error) {
    self.postMessage({ failed: String(error.message ?? error) })
  }
}

async function fetched(address) {
  const answer = await fetch(address)
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`)
  return answer
}

async function load({ pyodide, libcst, wheel, code, warm }) {
  const { loadPyodide } = await import(`${pyodide}pyodide.mjs`)
  const python = await loadPyodide({ indexURL: pyodide })
  python.unpackArchive(await (await fetched(wheel)).arrayBuffer(), "wheel")
  if (libcst) await python.loadPackage("libcst", { messageCallback: () => {} }).catch(() => {}) // then there are no fixes
  python.runPython(await (await fetched(code)).text())
  const look = python.globals.get("look")
  look(warm) // imports what a look needs, so that the time of the first text is its own
  return look
}
