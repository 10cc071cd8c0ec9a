package skill

import (
	"strings"
	"testing"
)

func TestWithoutHTML(t *testing.T) {
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
		if got := withoutHTML(text); got != want {
			t.Errorf("withoutHTML(%q) = %q, want %q", text, got, want)
		}
	}
}

// Hostile bodies must take linear time. Each of these once took minutes.
func TestHostileBodiesTakeLinearTime(t *testing.T) {
	for name, unit := range map[string]string{
		"comments":    "<!--",
		"scripts":     "<script",
		"ends":        "</script>",
		"backticks":   "`",
		"list marks":  "- ",
		"nesting":     "<!<!-- ---->",
		"fences":      "<!--\n-->```\n~~~\n",
		"headings":    "## \n",
		"hash marks":  "#",
		"See also":    seeAlso + "\n",
		"example":     "### Example 1\n```markdown\n",
		"item starts": "1. ```\n",
	} {
		t.Run(name, func(t *testing.T) {
			body := "## Additional Information\n" + strings.Repeat(unit, MaxSkillMD/len(unit))
			first := ParseBody(body)
			if again := ParseBody(string(RenderBody(first))); len(RenderBody(again)) != len(RenderBody(first)) {
				t.Error("rendering what was parsed changes it")
			}
		})
	}
}
