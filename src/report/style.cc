// SPDX-License-Identifier: Apache-2.0
#include "report/style.h"

namespace comity::report {

// --p0 to --p7: Okabe and Ito's palette, black and yellow replaced where they would vanish into the ground.
const std::string_view kStyle = R"css(
:root{color-scheme:light dark;--ground:#fff;--card:#fff;--ink:#1b2027;--soft:#56606d;--rule:#d9dee5;--grid:#e8ebf0;
--accent:#0b62a8;--tint:#f3f6fa;--best:#e2f3ea;--best-ink:#0a6244;--heat:#0b4f8a;
--p0:#0072b2;--p1:#d55e00;--p2:#009e73;--p3:#c46596;--p4:#56b4e9;--p5:#e69f00;--p6:#4d5561;--p7:#a39400}
@media (prefers-color-scheme:dark){:root{--ground:#12161b;--card:#181d24;--ink:#e8ebef;--soft:#a5afbb;--rule:#343c47;
--grid:#29303a;--accent:#7dbcf0;--tint:#1c222a;--best:#12382b;--best-ink:#7fe0b8;--heat:#7cc4ff;
--p0:#3b95dc;--p1:#f0803c;--p2:#22b88c;--p3:#dd8fb9;--p4:#8fd2f7;--p5:#f2b532;--p6:#b4bcc8;--p7:#f0e442}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans","Liberation Sans",sans-serif;font-variant-numeric:tabular-nums}
main,header.top,footer{max-width:1100px;margin:0 auto;padding:0 20px}
header.top{padding-top:36px}
footer{padding-top:24px;padding-bottom:40px;color:var(--soft);font-size:14px}
h1{font-size:1.9rem;line-height:1.2;margin:0;letter-spacing:-.01em;overflow-wrap:anywhere}
.subtitle{color:var(--soft);font-size:1.05rem;margin:6px 0 0;overflow-wrap:anywhere}
h2{font-size:1.35rem;line-height:1.3;margin:44px 0 12px;padding-top:14px;border-top:1px solid var(--rule);
overflow-wrap:anywhere}
h3{font-size:1.08rem;margin:28px 0 8px;overflow-wrap:anywhere}
p,li{max-width:75ch;overflow-wrap:anywhere}
p{margin:10px 0}
a{color:var(--accent)}
nav ol{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;padding:0;margin:18px 0 0;font-size:15px}
.note{border-left:4px solid var(--accent);background:var(--tint);padding:10px 14px;border-radius:0 6px 6px 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:18px 0;padding:0}
.tiles div{background:var(--tint);border:1px solid var(--rule);border-radius:8px;padding:12px 14px;min-width:0}
.tiles dt{color:var(--soft);font-size:14px;line-height:1.35}
.tiles dd{margin:2px 0 0;font-size:1.4rem;font-weight:650;line-height:1.25;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:14px 0;border:1px solid var(--rule);border-radius:8px;background:var(--card)}
table{border-collapse:collapse;width:100%;font-size:15px}
caption{text-align:left;color:var(--soft);padding:10px 14px 4px;font-size:14px}
th,td{padding:7px 14px;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--rule);vertical-align:bottom;font-size:14px}
td.right,th.right{text-align:right}
td.right{white-space:nowrap}
td.best{background:var(--best);color:var(--best-ink);font-weight:650}
pre{background:var(--tint);border:1px solid var(--rule);border-radius:8px;padding:12px 14px;overflow-x:auto;
font:14px/1.5 ui-monospace,"DejaVu Sans Mono",Consolas,monospace}
.row{display:grid;grid-template-columns:1fr 1fr;gap:16px 18px;margin:16px 0}
@media (max-width:860px){.row{grid-template-columns:minmax(0,1fr)}}
figure.chart{margin:16px 0;padding:16px 18px 12px;border:1px solid var(--rule);border-radius:8px;
background:var(--card);min-width:0}
figcaption b{display:block;font-size:1.02rem;overflow-wrap:anywhere}
figcaption span{display:block;color:var(--soft);font-size:14px;max-width:80ch;overflow-wrap:anywhere}
figcaption{margin-bottom:8px}
.row figure.chart{margin:0}
.legend{display:flex;flex-wrap:wrap;gap:2px 18px;list-style:none;margin:0 0 8px;padding:0;font-size:14px}
.legend li{display:flex;align-items:center;gap:7px;min-width:0}
.key{width:22px;height:12px;flex:none}
.chart svg.wide,.chart svg.narrow{display:block;width:100%;height:auto;overflow:visible}
.chart svg.narrow{display:none;max-width:520px;margin:0 auto}
.row svg.wide{display:none}.row svg.narrow{display:block}
@media (max-width:640px){.chart svg.wide{display:none}.chart svg.narrow{display:block}
main,header.top,footer{padding-left:14px;padding-right:14px}figure.chart{padding:12px 12px 8px}h1{font-size:1.5rem}}
.chart text{font-size:12px;fill:var(--soft)}
.chart .title{fill:var(--ink)}
.chart .value{fill:var(--ink);font-size:11px}
.grid{stroke:var(--grid);stroke-width:1;fill:none}
.axis{stroke:var(--soft);stroke-width:1;fill:none}
.line{stroke:var(--c);stroke-width:2;fill:none;stroke-linejoin:round;stroke-linecap:round}
.dot,.bar{fill:var(--c)}
.line.d1{stroke-dasharray:7 4}.line.d2{stroke-dasharray:2 4}
.bar.d1{fill-opacity:.62}.bar.d2{fill-opacity:.36}
.s0{--c:var(--p0)}.s1{--c:var(--p1)}.s2{--c:var(--p2)}.s3{--c:var(--p3)}
.s4{--c:var(--p4)}.s5{--c:var(--p5)}.s6{--c:var(--p6)}.s7{--c:var(--p7)}
.heat{fill:var(--heat)}
.none{fill:none;stroke:var(--grid);stroke-width:1}
.scale{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;font-size:14px;color:var(--soft);margin:8px 0 0}
.ramp{width:160px;height:12px;border-radius:3px;border:1px solid var(--rule);
background:linear-gradient(90deg,color-mix(in srgb,var(--heat) 7%,transparent),var(--heat))}
@media print{body{font-size:12px}figure.chart,.scroll,.tiles div{break-inside:avoid}nav{display:none}}
)css";

}  // namespace comity::report
