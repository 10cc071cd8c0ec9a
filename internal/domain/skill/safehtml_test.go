package skill

import "testing"

func TestRemove(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                             "plain",
		"a < b > c <p>":                     "a < b > c <p>",
		"a<!-- x\ny -->b":                   "a b",
		"<script>x()</script>b":             " b",
		"<IFRAME src=x>y</iframe >b":        " b",
		"<script src=x":                     "&lt;script src=x",
		"<!-- open":                         "&lt;!-- open",
		"</script>":                         "&lt;/script>",
		"<script </script>":                 "&lt;script &lt;/script>",
		"<script <b></script> <script":      "  &lt;script",
		"`<!--` and `<script>`":             "`<!--` and `<script>`",
		"a ` b <!-- c -->":                  "a ` b  ",
		"<!<!-- -->-- x -->":                "<! -- x -->",
		"<scripted>":                        "<scripted>",
		"<style>a</style><script>b</script": " &lt;script>b&lt;/script",
	} {
		if got := RemoveHTML(text); got != want {
			t.Errorf("Remove(%q) = %q, want %q", text, got, want)
		}
	}
}
