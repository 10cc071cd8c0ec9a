package skill_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

const fourHeadings = "## When to Use\nBefore a release.\n\n## Procedure\n1. Build\n2. Deploy\n\n## Pitfalls\n- Old " +
	"schema\n\n## Verification\nProbe it.\n"

func TestContentIsKeptInOneForm(t *testing.T) {
	for name, c := range map[string]struct {
		content, want string
		warnings      int
	}{
		"as it is":                 {fourHeadings, fourHeadings, 0},
		"byte order mark and CRLF": {"\ufeff" + strings.ReplaceAll(fourHeadings, "\n", "\r\n"), fourHeadings, 0},
		"CR alone":                 {"a\rb\r", "a\nb\n", 0},
		"decomposed letters":       {"Cafe\u0301", "Café\n", 0},
		"blanks before line ends":  {"\n\na  \n\t\nb\t\n\n\n", "a\n\nb\n", 0},
		"code keeps its blanks":    {"a \n```\nx  \n```  \nb ", "a\n```\nx  \n```  \nb\n", 0},
		"front matter":             {"---\nname: x\ndescription: y\n---\n\n# T\n", "# T\n", 1},
		"front matter with blanks": {"\n--- \nname: x\n---  \nT", "T\n", 1},
		"nothing":                  {" \n\t\n", "", 0},
		"a rule further down":      {"a\n\n---\nb", "a\n\n---\nb\n", 0},
		"more than one should read": {strings.Repeat("字", skill.LongContent+1),
			strings.Repeat("字", skill.LongContent+1) + "\n", 1},
		"front matter, wrapped twice": {"---\nname: x\n---\n---\nname: y\n---\nT", "T\n", 1},
	} {
		got, warnings, err := skill.NormalizeContent(c.content)
		if err != nil || got != c.want || len(warnings) != c.warnings {
			t.Errorf("%s: got %q, %q, %v", name, got, warnings, err)
		}
		if again, _, err := skill.NormalizeContent(got); err != nil || again != got {
			t.Errorf("%s: normalized again %q, %v", name, again, err)
		}
	}
}

func TestContentThatCannotBeKeptIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		code    fault.Code
	}{
		"runes":                        {strings.Repeat("a", skill.MaxContent+1), fault.TooLarge},
		"bytes":                        {strings.Repeat("𝐚", skill.MaxContentBytes/4+1), fault.TooLarge},
		"broken UTF-8":                 {"a\xff", fault.InvalidArgument},
		"open front matter":            {"---\nname: x\n", fault.InvalidArgument},
		"front matter again and again": {strings.Repeat("---\nname: x\n---\n", 5), fault.InvalidArgument},
		"prose between rules":          {"---\njust words\n---\n" + fourHeadings, fault.InvalidArgument},
	} {
		_, _, err := skill.NormalizeContent(c.content)
		if f := fault.From(err); f == nil || f.Code != c.code || f.Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestShapeOfASavedSkill(t *testing.T) {
	without := func(title string) string { return strings.Replace(fourHeadings, "## "+title, "### "+title, 1) }
	for name, c := range map[string]struct {
		content  string
		missing  []string
		warnings []string
	}{
		"whole": {content: fourHeadings},
		"any case, closed heading": {content: "## WHEN TO USE ##\nx\n##  procedure\n1\n ## Pitfalls\n-\n## " +
			"verification\ny"},
		"CRLF":                   {content: strings.ReplaceAll(fourHeadings, "\n", "\r\n")},
		"distilled sections too": {content: fourHeadings + "\n## Experience\n1. x\n"},
		"no pitfalls":            {content: without("Pitfalls"), warnings: []string{"## Pitfalls"}},
		"no verification":        {content: without("Verification"), warnings: []string{"## Verification"}},
		"empty when to use": {content: "## When to Use\n\n## Procedure\n1\n## Pitfalls\n-\n## Verification\ny",
			warnings: []string{"## When to Use"}},
		"no when to use": {content: without("When to Use"), missing: []string{"## When to Use"}},
		"no procedure":   {content: without("Procedure"), missing: []string{"## Procedure"}},
		"empty procedure": {content: "## When to Use\nx\n## Procedure\n\n## Pitfalls\n-\n",
			missing: []string{"## Procedure"}},
		"procedure of a comment": {content: "## When to Use\nx\n## Procedure\n<!-- later -->\n## Pitfalls\n-\n",
			missing: []string{"## Procedure"}},
		"second procedure speaks": {content: "## When to Use\nx\n## Procedure\n## Procedure\n1\n## Pitfalls\n-\n## " +
			"Verification\ny"},
		"headings in code": {content: "```\n" + fourHeadings + "```\n",
			missing: []string{"## When to Use", "## Procedure"}},
		"level 1 and 3": {content: strings.ReplaceAll(strings.Replace(fourHeadings, "## ", "# ", 1),
			"\n## Proc", "\n### Proc"), missing: []string{"## When to Use", "## Procedure"}},
		"nothing": {content: "", missing: []string{"## When to Use", "## Procedure"}},
	} {
		warnings, err := skill.CheckShape(c.content)
		f := fault.From(err)
		if c.missing != nil {
			if f == nil || f.Code != fault.InvalidArgument || !reflect.DeepEqual(f.Extra["missing"], c.missing) ||
				f.Hint == "" {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if err != nil || len(warnings) != len(c.warnings) || len(warnings) > 0 &&
			!strings.Contains(warnings[0], c.warnings[0]) {
			t.Errorf("%s: got %q, %v", name, warnings, err)
		}
	}
}

func TestAPatchThatBreaksTheSkillIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		code     fault.Code
	}{
		"takes the procedure away": {"## Procedure\n1. Build\n2. Deploy\n\n", "", fault.InvalidArgument},
		"empties the procedure":    {"1. Build\n2. Deploy\n", "", fault.InvalidArgument},
		"hides it in code":         {"Before a release.", "Before a release.\n```", fault.InvalidArgument},
		"opens front matter":       {"## When to Use", "---\n## When to Use", fault.InvalidArgument},
		"no such text":             {"Roll back the release", "x", fault.NoMatch},
	} {
		got, _, err := skill.PatchContent(fourHeadings, c.old, c.new, false)
		if fault.CodeOf(err) != c.code || got.Content != "" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	full := fourHeadings + strings.Repeat("a", skill.MaxContent-len(fourHeadings)-100)
	if _, _, err := skill.PatchContent(full, "Probe it.", strings.Repeat("b", 500),
		false); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("grows beyond the limit: %v", err)
	}
	got, warnings, err := skill.PatchContent(fourHeadings, "## Pitfalls\n- Old schema\n", "Then wait.  ", false)
	if err != nil || !strings.Contains(got.Content, "2. Deploy\n\nThen wait.\n## Verification") || len(warnings) != 1 ||
		!slices.Equal(got.Lines, []int{8}) {
		t.Errorf("got %+v, %q, %v", got, warnings, err)
	}
}

func TestSkillsThatAreProbablyOne(t *testing.T) {
	if skill.BodyHash(fourHeadings) != skill.BodyHash(
		strings.ReplaceAll(strings.ToUpper(fourHeadings), "\n", "  \r\n")) {
		t.Error("line ends, blanks and case make another body")
	}
	if skill.BodyHash(fourHeadings) == skill.BodyHash(strings.Replace(fourHeadings, "2.", "3.", 1)) {
		t.Error("another step makes the same body")
	}
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"deploy-web-service", "deploy-web-service", 1},
		{"deploy-web-service", "web-service-deploy", 1},
		{"deploy-web-service", "Deploy Web", 2.0 / 3},
		{"deploy-web-service", "deploy-database", 1.0 / 4},
		{"deploy-web", "review-code", 0},
		{"部署服务到生产", "部署服务到生产环境", 6.0 / 8},
		{"部署服务", "代码审查", 0},
		{"k8s部署", "部署-k8s", 1},
	} {
		if got := skill.NameSimilarity(c.a, c.b); got != c.want || skill.NameSimilarity(c.b, c.a) != c.want {
			t.Errorf("%s and %s: got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// FuzzNormalizeContent checks that normalized content is stable, keeps its shape, and parses to the
// same document.
func FuzzNormalizeContent(f *testing.F) {
	f.Add(fourHeadings)
	f.Add("\ufeff---\r\nname: x\r\n---\r\n## Procedure \t\r\n```\r\nx \r\n")
	f.Add("\r")
	f.Add("---\n---\n\u1100\u1161 \n\ufeff---\n")
	f.Fuzz(func(t *testing.T, content string) {
		got, _, err := skill.NormalizeContent(content)
		if err != nil {
			return
		}
		if again, warnings, err := skill.NormalizeContent(got); err != nil || again != got {
			t.Fatalf("%q → %q → %q, %q, %v", content, got, again, warnings, err)
		}
		warnings, err := skill.CheckShape(got)
		if document := skill.ParseBody(got); err == nil && document.Procedure == "" {
			t.Fatalf("%q passes (%q) and has no procedure", got, warnings)
		}
	})
}
