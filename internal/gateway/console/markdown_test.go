package console

import (
	"regexp"
	"strings"
	"testing"
)

func TestMarkdownIsRendered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# A\n\n- b\n- *c*":          "<h1>A</h1>\n<ul>\n<li>b</li>\n<li><em>c</em></li>\n</ul>\n",
		"[x](https://a.example/?b)":  `<p><a href="https://a.example/?b" rel="nofollow noreferrer">x</a></p>` + "\n",
		"`a<b`":                      "<p><code>a&lt;b</code></p>\n",
		"![alt](https://a.example/)": "<p>[alt](https://a.example/)</p>\n",
		"a <b>c</b>":                 "<p>a &lt;b&gt;c&lt;/b&gt;</p>\n",
	} {
		if got := string(renderMarkdown(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNothingRuns(t *testing.T) {
	t.Parallel()
	active := regexp.MustCompile(
		`(?i)<(script|img|svg|iframe|object|embed|style|form|input|base|meta|link)|<[^>]*\son\w+=|` +
			`(href|src)="?\s*(javascript|data|vbscript):|<[^>]*\sstyle=`,
	)
	for _, text := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
		"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](&#106;avascript:alert(1))",
		"[x](data:text/html,<script>1</script>)", "![x](javascript:alert(1))", "<javascript:alert(1)>",
		"<a href='x' style='x' onclick='x'>y</a>", "<iframe srcdoc='<script>1</script>'></iframe>",
		"<div\n\n<script>alert(1)</script>", "`<script>`", "    <script>", "<!-- --><script>alert(1)</script>",
		"[a]: javascript:alert(1)\n\n[a]", "<style>@import 'x'</style>", "<math><mi xlink:href='javascript:1'>",
		strings.Repeat("<b>", 30_000) + "<script>",
	} {
		if found := active.FindString(string(renderMarkdown(text))); found != "" {
			t.Errorf("%.60q: %q in %.200s", text, found, renderMarkdown(text))
		}
	}
}
