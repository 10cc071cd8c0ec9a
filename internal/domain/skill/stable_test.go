package skill

import (
	"strings"
	"testing"
)

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
