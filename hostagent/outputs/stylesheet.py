"""CSS of the HTML page: for desktop, phone, dark mode and print. Colour shows only severity."""

STYLE = """
:root { color-scheme: light dark; --bad: #b3142b; --warn: #875700; --unknown: #6a3fa0; --good: #1b6e2f; --note: #59606a;
  --page: #fff; --text: #1c2127; --quiet: #59606a; --line: #d9dde2; --soft: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --warn: #ffc35c; --unknown: #cdb0ff; --good: #7fd99a; --note: #a7b0bb;
  --page: #14171b; --text: #e4e8ec; --quiet: #a7b0bb; --line: #363d46; --soft: #1d2228; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; color: var(--text); background: var(--page);
  max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; overflow-wrap: anywhere; }
h1, h2, h3, p, dl, ol, ul, pre { margin: 0; } a { color: inherit; }
.statement { margin-bottom: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.3; font-weight: 400; margin-top: .5rem; text-wrap: pretty; }
.badge { display: inline-block; font-weight: 700; font-size: .875rem; letter-spacing: .04em; padding: .2rem .7rem;
  border-radius: .3rem; background: currentColor; white-space: nowrap; }
.badge > span { color: var(--page); } .whose { color: var(--quiet); margin-left: .5rem; }
.bad { color: var(--bad); } .warn { color: var(--warn); } .unknown { color: var(--unknown); } .good { color: var(--good); }
.note { color: var(--note); }
.quiet { color: var(--quiet); font-size: .9375rem; }
.box { background: var(--soft); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.25rem; margin: 1.5rem 0; }
h2 { font-size: 1.125rem; line-height: 1.4; } h2 small, summary small { font-size: .875rem; font-weight: 400; color: var(--quiet); }
.box ol, .box ul { padding-left: 1.5rem; } .box li { margin-top: .5rem; padding-left: .25rem; } .box li::marker { color: var(--quiet); }
.host { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; margin: 1.5rem 0; font-size: .9375rem; }
dt { color: var(--quiet); } dd { margin: 0; }
main > section { margin-top: 2.25rem; } .facts { margin-top: 0; }
article { border-left: .25rem solid; padding: .1rem 0 .1rem 1rem; margin-top: 1.25rem; } article > * { color: var(--text); }
h3 { font-size: 1rem; line-height: 1.4; font-weight: 600; } h3 a, td a { text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
article table { margin-top: .4rem; } article .quiet { margin-top: .5rem; }
:target { background: var(--soft); outline: .4rem solid var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line); }
tr:last-child > td { border-bottom: 0; }
th { font-weight: 400; color: var(--quiet); font-size: .875rem; }
td:first-child { width: 15rem; } td:last-child, th:last-child { padding-right: 0; }
th:last-child:not(:first-child) { white-space: nowrap; } .checks th:last-child { text-align: right; }
.number { width: 5rem; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.gpus td:first-child { width: 3rem; } .gpus { font-size: .875rem; }
.gpus td { font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font: .875rem/1.5 ui-monospace, SFMono-Regular, Consolas, "Liberation Mono", monospace; }
pre { white-space: pre-wrap; background: var(--soft); border: 1px solid var(--line); border-radius: .3rem; padding: .4rem .7rem;
  margin-top: .4rem; }
.box pre { background: var(--page); } pre.run, code.run { user-select: all; -webkit-user-select: all; }
details { margin-top: .5rem; } main > details { margin-top: 0; border-top: 1px solid var(--line); padding: .7rem 0; }
main > details:first-of-type { margin-top: 2.25rem; }
summary { cursor: pointer; } main > details > summary { font-weight: 600; }
article summary, .facts summary { font-size: .9375rem; color: var(--quiet); }
details[open] > summary { margin-bottom: .4rem; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; }
@media (max-width: 40rem) { body { padding: 1.25rem 1rem 2rem; } h1 { font-size: 1.25rem; } .box { padding: .8rem 1rem; }
  .host { grid-template-columns: 1fr; gap: 0; } dd + dt { margin-top: .4rem; } thead { display: none; }
  tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); } tr:last-child { border-bottom: 0; }
  td, td:first-child, .gpus td:first-child { display: block; width: auto; padding: 0; border: 0; text-align: left; }
  .gpus td, .gpus td:first-child { display: inline-block; padding-right: .8rem; }
  .gpus td:empty { display: none; } .gpus td:first-child:not(:empty)::before { content: "GPU "; }
  .number:not(:empty)::before { content: attr(data-of) " "; color: var(--quiet); } }
@media print { :root { --bad: #b3142b; --warn: #875700; --unknown: #6a3fa0; --good: #1b6e2f; --note: #59606a;
    --page: #fff; --text: #000; --quiet: #444; --line: #bbb; --soft: #fff; }
  @page { margin: 15mm; } html { font-size: 9.5pt; } body { max-width: none; padding: 0; } th, td { padding-block: .2rem; }
  .badge { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  li, tr, pre, .box { break-inside: avoid; } .gpus { font-size: .75rem; }
  h2, h3, summary { break-after: avoid; } thead { display: table-header-group; }
  details > * { display: block; } details::details-content { content-visibility: visible; display: block; block-size: auto; } }
"""
