// Drives the playground in a frame, as a reader would, and tells the server what it saw. STEPS and TEXTS come from the test.
const frame = document.createElement("iframe")
const part = name => frame.contentDocument.getElementById(`playground-${name}`)
const post = (address, body) => fetch(address, { method: "POST", body: JSON.stringify(body) })
const pause = time => new Promise(done => setTimeout(done, time))
const seen = []

async function until(pattern) {
  while (!new RegExp(pattern).test(part("status")?.textContent)) await pause(50)
}

const steps = {
  open: async (page, width) => {
    frame.style.width = `${width}px`
    const opened = new Promise(done => { frame.onload = done })
    frame.src = page
    document.body.append(frame)
    await opened
  },
  until,
  mark: () => post("/mark", null),
  write: async name => {
    part("text").value = TEXTS[name] ?? name
    part("text").dispatchEvent(new Event("input"))
    part("status").textContent = ""
  },
  choose: async (at, pattern) => {
    part("status").textContent = ""
    part("example").value = at
    part("example").dispatchEvent(new Event("change"))
    await until(pattern)
  },
  click: selector => frame.contentDocument.querySelector(selector).click(),
  send: (inside, outside) => Promise.allSettled([frame.contentWindow.fetch(inside), fetch(outside)]),
  see: () => {
    const { value, selectionStart, selectionEnd } = part("text")
    const shown = Object.fromEntries(["status", "findings", "norms", "fix"].map(name => [name, part(name).innerText]))
    const wide = frame.contentDocument.documentElement.scrollWidth
    seen.push({ ...shown, text: value, selected: value.slice(selectionStart, selectionEnd), wide })
  },
}

for (const [step, ...given] of STEPS) await steps[step](...given)
await post("/told", seen)
