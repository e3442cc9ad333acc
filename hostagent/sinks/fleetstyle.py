"""How the page of a fleet looks, beside what all pages share: small tiles in a grid, each with a sign as well as a colour."""

STYLE = """
body { max-width: 84rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, 1.5rem); gap: .2rem; margin: .4rem 0 .8rem; padding: 0; list-style: none; }
.tile { display: block; width: 1.5rem; height: 1.5rem; border-radius: .25rem; text-align: center; flex: none;
  font: 700 .8rem/1.5rem system-ui, sans-serif; text-decoration: none; overflow: hidden; }
.tile.ready { background: var(--good); } .tile.degraded { background: var(--warn); } .tile.not_ready { background: var(--bad); }
.tile.unknown { background: var(--unknown); } .tile.stale { background: var(--note); }
.tile, a.tile { color: var(--page); } .tile.one { outline: .1rem dashed var(--page); outline-offset: -.2rem; }
a.tile:hover, a.tile:focus { outline: .15rem solid var(--text); outline-offset: 0; text-decoration: none; }
.legend { display: flex; flex-wrap: wrap; gap: .4rem 1.5rem; padding: 0; margin: 1rem 0; list-style: none; }
.legend li { display: flex; align-items: center; gap: .5rem; }
h3 small, h4 small { font-size: .875rem; font-weight: 400; color: var(--quiet); } h3 { margin-top: 1rem; } article h3 { margin-top: 0; }
h4 { font-size: .9375rem; font-weight: 400; color: var(--quiet); margin: .4rem 0 0; }
.differences { padding-left: 1.25rem; font-size: .9375rem; }
section > details { margin: 0 0 .8rem; font-size: .9375rem; } section > details > summary { color: var(--quiet); }
@media print { .tile { print-color-adjust: exact; -webkit-print-color-adjust: exact; break-inside: avoid; } .tiles { gap: .15rem; } }
"""
