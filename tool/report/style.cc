// SPDX-License-Identifier: Apache-2.0
#include "tool/report/style.h"

namespace vixen::tool {

const char kReportStyle[] = R"css(
:root{color-scheme:light dark;--page:#fff;--ink:#1b1f24;--soft:#5b6470;--rule:#dfe3e8;--grid:#eceff2;--wash:#f6f7f9;
--policy:#1f5fa8;--hold:#b26a00;--flat:#8a929c;--price:#4a525c;--long:#0f7b6c;--short:#b5452f;--warn:#9a5b00;--warn-wash:#fdf6e9;
--c1:#1f5fa8;--c2:#b26a00;--c3:#0f7b6c;--c4:#b5452f;--c5:#6b4fa0;--c6:#5b6470}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--ink:#e4e7ea;--soft:#9aa3ad;--rule:#2e343a;--grid:#23282d;--wash:#1b1f23;
--policy:#6aa8ee;--hold:#e0a04a;--flat:#7d8690;--price:#b4bcc5;--long:#45b8a5;--short:#e3806a;--warn:#e6b566;--warn-wash:#262015;
--c1:#6aa8ee;--c2:#e0a04a;--c3:#45b8a5;--c4:#e3806a;--c5:#ac92e0;--c6:#9aa3ad}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;line-height:1.25;font-weight:600;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:17px;font-weight:600;margin:40px 0 2px;padding-top:14px;border-top:1px solid var(--rule)}
h3{font-size:14px;font-weight:600;margin:18px 0 4px}
p{margin:4px 0 10px}
.sub,.note,figcaption{color:var(--soft);font-size:13px}
.note{margin:8px 0}
figure{margin:8px 0 0}
svg{display:block;width:100%;height:auto;overflow:visible}
svg.narrow{display:none}
svg text{font-size:12px;fill:var(--soft)}
svg .legend{fill:var(--ink)}
.grid{stroke:var(--grid)}
.axis{stroke:var(--rule)}
.zero{stroke:var(--flat);stroke-width:.8}
.line{fill:none;stroke:var(--k);stroke-width:1.4;stroke-linejoin:round;stroke-linecap:round}
.area{fill:var(--k);fill-opacity:.22;stroke:none}
.area.long,.area.short{fill-opacity:.75}
.bars,.mark{fill:var(--k);stroke:none}
.bars{fill-opacity:.65}
.policy{--k:var(--policy)}.hold{--k:var(--hold)}.flat{--k:var(--flat)}.price{--k:var(--price)}.long{--k:var(--long)}.short{--k:var(--short)}
.line.flat{stroke-dasharray:4 4}
.line.whisker{stroke-width:2;stroke-dasharray:none}
.c1{--k:var(--c1)}.c2{--k:var(--c2)}.c3{--k:var(--c3)}.c4{--k:var(--c4)}.c5{--k:var(--c5)}.c6{--k:var(--c6)}
.facts{display:grid;grid-template-columns:repeat(5,1fr);gap:0;margin:20px 0 0;border:1px solid var(--rule);border-radius:4px;overflow:hidden}
.facts>div{padding:11px 14px;border-left:1px solid var(--rule)}
.facts>div:first-child{border-left:0}
.facts dt{font-size:12.5px;color:var(--soft)}
.facts dd{margin:1px 0 0;font-size:21px;line-height:1.3;font-variant-numeric:tabular-nums}
.facts dd+dd{font-size:12.5px;color:var(--soft)}
.warnings{margin:18px 0 0;padding:10px 16px 12px;background:var(--warn-wash);border-left:3px solid var(--warn)}
.warnings h2{margin:0 0 2px;padding:0;border:0;font-size:14px;color:var(--warn)}
.warnings ul{margin:0;padding-left:18px}
.warnings li{margin:3px 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums;margin:8px 0 0}
th,td{padding:4px 10px;border-bottom:1px solid var(--grid);text-align:right;white-space:nowrap}
th{font-weight:600;color:var(--soft);border-bottom-color:var(--rule)}
th:first-child,td:first-child{text-align:left;padding-left:0}
td.text,th.text{text-align:left;white-space:normal}
td.text{overflow-wrap:anywhere}
td.none{color:var(--soft)}
td.gain{color:var(--long)}td.loss{color:var(--short)}
td.bar{width:26%;min-width:90px;text-align:left}
td.bar i{display:block;height:9px;background:var(--policy);opacity:.75;min-width:1px}
.two{display:grid;grid-template-columns:1fr 1fr;gap:0 40px}
.two>*{min-width:0}
details{margin:10px 0 0}
summary{cursor:pointer;color:var(--soft);font-size:13.5px}
code{font:12.5px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
footer{margin-top:40px;color:var(--soft);font-size:12.5px}
@media(max-width:680px){
main{padding:18px 14px 40px}
svg.wide{display:none}svg.narrow{display:block}
.facts{grid-template-columns:1fr 1fr}
.facts>div{border-left:0;border-top:1px solid var(--rule)}
.facts>div:nth-child(even){border-left:1px solid var(--rule)}
.facts>div:first-child,.facts>div:nth-child(2){border-top:0}
.facts>div:last-child:nth-child(odd){grid-column:1/-1}
.two{grid-template-columns:1fr}
th,td{padding:4px 6px}
}
@media print{.facts,figure,table{break-inside:avoid}details{display:none}}
)css";

}  // namespace vixen::tool
