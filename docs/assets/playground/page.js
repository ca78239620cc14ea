// The playground: sends the text to a worker with Python in it, and shows what comes back. All text is set as text.
const data = JSON.parse(document.getElementById("playground-data").textContent)
const part = name => document.getElementById(`playground-${name}`)
const editor = part("text"), numbers = part("lines"), example = part("example")
const here = address => new URL(address, document.baseURI).href

let worker, ready, asked, givenUp, timer

function make(tag, className, ...content) {
  const element = document.createElement(tag)
  element.className = className
  element.append(...content)
  return element
}

// Text between backticks as code.
function worded(text) {
  return text.split("`").map((piece, at) => at % 2 ? make("code", "", piece) : piece)
}

function tell(status) {
  part("status").textContent = status
}

// A worker from a blob inherits the page's security policy; one from a file would not.
function start(told) {
  const code = new Blob([`import ${JSON.stringify(here(data.worker))}`], { type: "text/javascript" })
  const address = URL.createObjectURL(code)
  ready = false
  tell(told)
  worker = new Worker(address, { type: "module" })
  worker.onmessage = ({ data: answer }) => hear(answer)
  worker.onerror = event => hear({ failed: event.message || "the browser could not start it" })
  worker.postMessage({ ...data, pyodide: here(data.pyodide), wheel: here(data.wheel), code: here(data.code), warm: data.examples[0].text })
}

function hear({ said, failed }) {
  clearTimeout(timer)
  const before = asked
  asked = undefined
  if (failed !== undefined && !ready) return stop(`Python could not be loaded: ${failed}`)
  if (failed !== undefined) return giveUp(before, `normlint failed on this text: ${failed}.`)
  ready = true
  if (said && before === editor.value) show(said)
  else check()
}

function stop(why) {
  worker.terminate()
  worker = undefined
  tell(why)
}

function check() {
  if (!worker || asked !== undefined || editor.value === givenUp) return
  if (!ready) return tell("Loading Python …")
  asked = editor.value
  givenUp = undefined
  tell("Checking …")
  timer = setTimeout(() => giveUp(asked, `Ended after ${data.seconds} seconds: this text takes too long.`), data.seconds * 1000)
  worker.postMessage(asked)
}

function giveUp(text, why) {
  worker.terminate()
  asked = undefined
  givenUp = text
  clear()
  start(`${why} Change it to try again.`)
}

function clear() {
  part("findings").replaceChildren()
  part("norms").replaceChildren()
  part("fix").replaceChildren()
  number([])
}

function show({ error, findings = [], norms = [], canFix, fix }) {
  clear()
  if (error) return tell(error)
  tell(`${counted(findings.length, "finding", "No")} in ${counted(norms.length, "norm", "no")}.`)
  part("findings").append(...findings.map(shownFinding))
  part("norms").append(...norms.map(one => make("li", "", make("code", "", one.name), ": ", ...worded(one.says))))
  if (findings.length) part("fix").append(...(fix ? shownFix(fix) : [make("p", "", withoutFix(canFix))]))
  number(findings.map(one => one.line))
}

function counted(count, what, none) {
  return `${count || none} ${what}${count === 1 ? "" : "s"}`
}

function withoutFix(canFix) {
  return canFix ? "No fix can be made for this." : "Fixes need libcst, which could not be loaded."
}

function shownFinding(one) {
  const place = make("button", "place", `line ${one.line}, column ${one.column}`)
  place.type = "button"
  place.onclick = () => select(one)
  const rule = make("a", "", `${one.code} ${one.name}`)
  rule.href = `../rules/${one.name}/`
  return make("li", one.severity, make("span", "severity", one.severity), rule, place, make("p", "", ...worded(one.message)))
}

function shownFix({ source, diff, made }) {
  const lines = diff.map(line => make("span", { "+": "new", "-": "gone" }[line[0]] ?? "", `${line}\n`))
  const apply = make("button", "md-button", "Apply")
  apply.type = "button"
  apply.onclick = () => put(source)
  const said = make("ul", "", ...made.map(one => make("li", "", ...worded(one))))
  return [make("h2", "", "Fix"), said, make("pre", "", make("code", "", ...lines)), apply]
}

// By a command of the editor's own, so that it can be undone; a browser without it gets the text set.
function put(text) {
  editor.focus()
  editor.select()
  if (!document.execCommand("insertText", false, text)) editor.value = text
  editor.setSelectionRange(0, 0)
  editor.scrollTop = 0
  changed()
}

function select({ line, column, end_line: endLine, end_column: endColumn }) {
  const lines = editor.value.split("\n")
  const before = number => lines.slice(0, number - 1).reduce((sum, one) => sum + one.length + 1, 0)
  const within = (number, count) => [...(lines[number - 1] ?? "")].slice(0, count - 1).join("").length // a column is a character
  editor.focus()
  editor.setSelectionRange(before(line) + within(line, column), before(endLine) + within(endLine, endColumn))
  const { lineHeight, fontSize } = getComputedStyle(editor)
  editor.scrollTop = (line - 1) * parseFloat(lineHeight) - editor.clientHeight / 2
  editor.scrollLeft = Math.max(0, endColumn * 0.62 * parseFloat(fontSize) - editor.clientWidth)
}

function number(marked) {
  const count = editor.value.split("\n").length
  const shown = Array.from({ length: count }, (_, at) => make("span", marked.includes(at + 1) ? "marked" : "", `${at + 1}\n`))
  numbers.replaceChildren(...shown)
  editor.rows = Math.min(Math.max(count, 10), 26)
  numbers.scrollTop = editor.scrollTop
}

let pause
function changed() {
  number([])
  part("fix").replaceChildren() // it is another text's
  clearTimeout(pause)
  pause = setTimeout(check, 300)
}

editor.oninput = () => {
  example.value = ""
  changed()
}
editor.onscroll = () => { numbers.scrollTop = editor.scrollTop }
example.append(...data.examples.map((one, at) => new Option(one.name, at)))
example.onchange = () => example.value && put(data.examples[example.value].text)
example.value = 0
editor.value = data.examples[0].text
number([])
start("Loading Python …")
