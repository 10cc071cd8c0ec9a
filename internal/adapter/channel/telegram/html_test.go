package telegram_test

import (
	"testing"

	"cairn/internal/adapter/channel/telegram"
)

func TestMarkdownBecomesTheHTMLOfTelegram(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"Hello <b> & you":                    "Hello &lt;b&gt; &amp; you",
		"**bold** *it* ~~no~~ `a<b`":         "<b>bold</b> <i>it</i> <s>no</s> <code>a&lt;b</code>",
		"# Head\n\nText":                     "<b>Head</b>\n\nText",
		"[page](https://x.org/?a=1&b=\"2\")": `<a href="https://x.org/?a=1&amp;b=&#34;2&#34;">page</a>`,
		"- a\n- b\n  - c\n\nEnd":             "• a\n• b\n  • c\n\nEnd",
		"3. a\n4. b":                         "3. a\n4. b",
		"```go\nif a < b {\n```\nEnd":        "<pre><code class=\"language-go\">if a &lt; b {\n</code></pre>\n\nEnd",
		"> said\n\nBut":                      "<blockquote>said</blockquote>\n\nBut",
		"one\ntwo":                           "one\ntwo",
		"<script>alert(1)</script>":          "&lt;script&gt;alert(1)&lt;/script&gt;",
		"***":                                "———",
		"a | b":                              "a | b",
		"See <https://example.org>":          "See https://example.org",
		"2 < 3 and ![cat](https://x.org/c)":  "2 &lt; 3 and cat",
		`1 \* 2 \_ \<b\>`:                    "1 * 2 _ &lt;b&gt;",
		"a &lt;b&gt; &amp; &copy;":           "a &lt;b&gt; &amp; ©",
		"`a \\* &lt;`":                       `<code>a \* &amp;lt;</code>`,
	} {
		if got := telegram.HTML(source); got != want {
			t.Errorf("%q became %q, want %q", source, got, want)
		}
	}
}
