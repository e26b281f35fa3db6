"""What the app adds to Streamlit's style, as one text that is in the page from its first byte (ui/first_paint.py).

A style that a run of the page sends comes after the elements that it is for, and moves all of them.
"""

from __future__ import annotations

EDGE = ("#7d8893", "#7b8793")  # of what is drawn by its edge alone: contrast 3 with both grounds of a theme
INK = ("#46525e", "#b3bdc7")  # of words in a picture, on light and on dark ground
WIDE = 620
NARROW = '.annotation [style*="pointer-events: all"]{display:none}'
BROAD = ".legend2{display:none}"
SIDEBAR = 300  # pixels that Streamlit gives it

# Streamlit's own grey is too faint for small words; light-dark follows a visitor who switches without a new run.
_FRAME = """
[data-layout=narrow] [data-testid=stMainBlockContainer]{max-width:initial}
@media (min-width:calc(736px + 8rem)){
[data-layout=narrow] [data-testid=stMainBlockContainer]{padding-left:5rem;padding-right:5rem}}
[data-testid=stSidebar][data-collapsed=true] *{visibility:hidden!important}
[data-testid=stCaptionContainer]{color:INK!important;opacity:1!important}
[data-testid=stPageLink-NavLink] :is(span:not([data-testid]),div,p){
white-space:normal!important}
@media (hover:none){[data-testid=stFullScreenFrame]:has([data-testid=stDataFrame]){padding-top:2rem}}
:is([data-testid=stPageLink-NavLink],[data-testid=stBaseButton-elementToolbar],[data-testid=stTopNavLink],
[data-testid=stTopNavSection],[data-testid=stSidebarNavLink]):focus-visible{
outline:2px solid INK;outline-offset:-2px}
:is([data-testid=stHeader],[data-testid=stSidebarNav],[role=menu]) [aria-current]:not([aria-current=false]) p{
text-decoration:underline 2px;text-underline-offset:5px}
:is([data-testid=stNumberInputContainer],[data-testid=stTextInputRootElement],
[data-testid=stSelectbox] [role=group]):not(:focus-within){border-color:EDGE!important}
[data-testid=stCheckbox] label>span+div{outline:1px solid EDGE;outline-offset:-1px}
:is([data-testid=stTooltipIcon] button,[data-testid=stCheckbox] label){position:relative}
[data-testid=stSlider] div:has(>div>input[type=range])::after,[data-testid=stTooltipIcon] button::after,
[data-testid=stCheckbox] label::before{content:"";position:absolute;inset:-6px}
[data-testid=stCheckbox] label::before{inset:-2px 0}
[data-testid=stBaseButton-primary]:not(:disabled) *{color:light-dark(#ffffff,#11161c)!important}
@media (prefers-reduced-motion:reduce){*,*::before,*::after{animation-duration:1ms!important;
animation-iteration-count:1!important;transition-duration:1ms!important;scroll-behavior:auto!important}}
"""

# Where a visitor's system sets the colours, a browser drops every ground and shadow, and with them all that Streamlit
# draws by these alone: here such parts get an outline, or one of the system's own colours.
_FORCED = """
@media (forced-colors:active){
[data-testid=stSlider] [role=group]>div>div:first-child,[data-testid=stProgressBarTrack],
[data-testid=stCheckbox] label>span+div,[data-testid=stRadioOption] span+div>div:first-child,
[data-testid=stAlertContainer],[data-testid=stCode],[data-testid=stFileUploaderDropzone],
[data-testid=stMultiSelect] [data-tag]{outline:1px solid CanvasText;outline-offset:-1px}
[data-testid=stSlider] div:has(>div>input[type=range]),[data-testid=stProgressBarTrack]>*,
[data-testid=stCheckbox] label>span+div>div,[data-testid=stCheckbox] label:has(:checked)>span+div,
[data-testid=stRadioOption]:has(:checked) span+div>div:first-child>div{
forced-color-adjust:none;background:CanvasText!important}
[data-testid=stCheckbox] label:has([role=switch]:checked)>span+div>div{background:Canvas!important}
[data-testid=stSliderThumbValue]{color:CanvasText!important}
[data-testid=stButtonGroup] :is([aria-checked=true],[aria-pressed=true]),
[role=option]:is([aria-selected=true],[data-focused=true]){
forced-color-adjust:none;background:Highlight!important;border-color:Highlight!important;color:HighlightText!important}
}
"""

# Labels at the ends of curves (they alone have words of their own under the pointer) give way where they would take
# more than a fifth of the width: there a legend names the curves.
_CHARTS = f"""
.js-plotly-plot :is([class^=x],[class^=y])[class$=title],
.js-plotly-plot :is([class^=x],[class^=y])[class$=tick] text{{fill:INK!important}}
[data-testid=stPlotlyChart]{{container-type:inline-size}}
[class*=st-key-tall-]{{flex:none;height:clamp(340px,54vh,640px)}}
[data-testid=stLayoutWrapper]:has(>.st-key-axes){{width:fit-content;height:0;margin-bottom:-1rem;z-index:1}}
@container (max-width:{WIDE}px){{{NARROW}}}
@container (min-width:{WIDE}.01px){{{BROAD}}}
[class*=st-key-table-] [data-testid=stMarkdownContainer]{{overflow-x:auto}}
"""

# The room of what is not drawn yet: of a control with its words, of a picture.
_ROOM = """
[data-testid=stMain] [class*=st-key-]:not([class*=st-key-learn-])>[data-testid=stSkeleton]{min-height:68px}
.st-key-glossary [data-testid=stColumn]+* [data-testid=stSkeleton]{height:2rem}
.st-key-heading{display:grid}
.st-key-heading>*{grid-area:1/1}
.room{visibility:hidden}
.st-key-heading .room p{margin:1rem 0 0;font-size:.875rem;line-height:1.6}
.st-key-heading .room p:first-child{margin:0;padding-top:1.25rem;font-weight:700;font-size:1.9rem;line-height:1.2}
.st-key-contextual-opening{min-height:700px}
.st-key-mechanisms-opening{min-height:600px}
:is(.st-key-theory-pictures,.st-key-heavy-pictures) [data-testid=stColumn]{
min-width:min(100%,340px)}
.st-key-theory-pictures :last-child>[data-testid=stSkeleton]{height:auto;width:100%;max-width:460px;
aspect-ratio:460/300}
.st-key-trust-who [data-testid=stSkeleton]{height:262px}
.st-key-trust-why [data-testid=stSkeleton]{height:164px}
"""

# On paper the page is narrower than on the screen, and pictures keep their width: all of it becomes smaller, by how
# much ui/theme_watch.py finds out.
_PAPER = """
@media print{[data-testid=stSidebar],[data-testid=stHeader],.modebar-container,[data-testid=stElementToolbar]{
display:none!important}
[data-testid=stMainBlockContainer]{padding-left:0!important;padding-right:0!important;zoom:var(--paper,1)}
:is([data-testid=stPlotlyChart],[data-testid=stDataFrame],[data-testid=stImage],[data-testid=stColumn]){
break-inside:avoid}
[class*=st-key-tall-]{height:auto!important}
[data-testid=stElementContainer]:has([data-testid=stHeading]){break-after:avoid}}
"""

_LEARN = """
.st-key-learn-step,.st-key-learn-above,.st-key-learn-below{gap:.6rem}
.st-key-learn-told{gap:.3rem}
:is([class*=st-key-learn-back],[class*=st-key-learn-next]){min-width:79px}
[data-testid=stMainBlockContainer]:has(.st-key-learn-step) h1{font-size:1.8rem!important;padding:0 0 .2rem}
[data-testid=stMainBlockContainer]:has(.st-key-learn-step)>div>[data-testid=stVerticalBlock]{gap:.6rem}
@media (max-width:640px){.st-key-learn-above{display:none!important}}
@media (min-width:641px){.st-key-learn-below{display:none!important}}
"""

_TEACH = """
[class*=st-key-teach-card-]{display:grid!important;grid-template-columns:1fr 1fr;gap:.5rem}
[class*=st-key-teach-card-] :is([data-testid=stElementContainer],button,div){width:100%}
[class*=st-key-teach-card-] button em{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
"""

STYLE = (_FRAME + _FORCED + _CHARTS + _ROOM + _PAPER + _LEARN + _TEACH).replace("INK", f"light-dark({INK[0]},{INK[1]})")
STYLE = STYLE.replace("EDGE", f"light-dark({EDGE[0]},{EDGE[1]})")

# A lesson on a projector fills the window, and its letters grow with it. Sent by the lesson: `html:has(...)` for
# it made a browser look at all elements of every page, again and again.
PROJECT = """<style>
html{font-size:clamp(12px,min(1.35vw,2.4vh),30px)!important}
.st-key-project,.st-key-project>div{gap:.4rem}
.st-key-project h1{font-size:1.7rem!important;padding:0}
[data-testid=stMainBlockContainer]:has(.st-key-project){padding-bottom:0!important}
.st-key-project-picture{height:56vh!important;flex:none!important}
.st-key-project-guesses{height:36vh!important;flex:none!important}
html :is(.js-plotly-plot,#js-plotly-tester) text{font-size:max(18px,1rem)!important}
.st-key-project [data-testid=stSlider] div:has(>div>input[type=range]){width:1.8rem;height:1.8rem}
.st-key-project [data-testid=stSlider] label{margin-bottom:.9rem}
[data-testid=stApp] [data-testid=stHeader]{display:none}
.st-key-project [data-testid=stImage] img{max-height:50vh;object-fit:contain}
.blank .st-key-project-picture{visibility:hidden}
</style>"""

# The room of a sidebar, until it stands there. A style of its own, which goes after the first run of a page
# (ui/theme_watch.py): later a visitor may come to a page without one.
ROOM_FOR_SIDEBAR = f"""
@media (min-width:768px){{[data-testid=stAppViewContainer]>:is(a:first-child+div,div:first-child){{
margin-left:{SIDEBAR}px}}}}
"""
