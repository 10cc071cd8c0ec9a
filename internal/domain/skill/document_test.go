package skill_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func ExampleRender() {
	md := skill.Render(skill.Document{
		Name:        "Service Rollback",
		Description: "Roll back: restore the last healthy release",
		Trigger:     []string{"rollback", "incident"},
		Procedure:   "1. Probe\n2. Roll back",
		Experience:  []string{"Probe before\nand after"},
	}, skill.RenderOptions{})
	fmt.Print(string(md))
	// Output:
	// ---
	// name: service-rollback
	// description: "Roll back: restore the last healthy release"
	// ---
	//
	// ## Trigger
	// rollback, incident
	//
	// ## Procedure
	// 1. Probe
	// 2. Roll back
	//
	// ## Experience
	// 1. Probe before
	//    and after
}

func ExampleParseDocument() {
	document, err := skill.ParseDocument([]byte("---\nname: deploy\ndescription: >\n  Deploy the\n  service\n---\n" +
		"## When to Use\nBefore a release.\n\n## Procedure\n1. Build\n```sh\n## not a heading\n```\n\n## Pitfalls\n" +
		"- Old schema\n\n## Verification\nProbe it.\n"))
	fmt.Printf("%q %q %q %q %v\n", document.Description, document.WhenToUse, document.Procedure, document.Verification,
		err)
	// Output: "Deploy the service" "Before a release." "1. Build\n```sh\n## not a heading\n```" "Probe it." <nil>
}

func TestRenderWritesEverySection(t *testing.T) {
	document := skill.Document{
		Name: "x", Description: "d", Intro: "# Title\nintro", WhenToUse: "when", Trigger: []string{"a", "b"},
		Procedure: "p",
		Pitfalls:  "- pit", Verification: "v", Experience: []string{"e"}, Preference: []string{"f\ng"},
		Examples: []string{"one", "two ````"}, Scripts: []string{"z.py", "a.sh"}, Tools: []string{"kubectl"},
		Sections: []skill.Section{{Title: "Background", Body: "b"}},
		Others:   []skill.Entry{{Key: "Zeta", Text: "z"}, {Key: "Alpha", Text: "a"}}, References: []string{"r.md"},
	}
	want := "# Title\nintro\n\n## When to Use\nwhen\n\n## Trigger\na, b\n\n## Procedure\np\n\n## Pitfalls\n- pit\n\n" +
		"## Verification\nv\n\n" +
		"## Experience\n1. e\n\n## User Preferences\n- f\n  g\n\n## Examples\n\n### Example 1\n```markdown\none\n" +
		"```\n\n### Example 2\n`````markdown\ntwo ````\n`````\n\n" +
		"## Scripts\n- `./scripts/a.sh`\n- `./scripts/z.py`\n\n## Tool Usage\n- kubectl\n\n## Background\nb\n\n" +
		"## Additional Information\n### Alpha\na\n\n### Zeta\nz\n\nSee also:\n- [r.md](./reference/r.md)\n"
	if got := string(skill.RenderBody(document)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := skill.ParseBody(want); !reflect.DeepEqual(skill.RenderBody(got), []byte(want)) ||
		got.Scripts[0] != "a.sh" || got.Others[1].Text != "z" {
		t.Errorf("parsed %+v", got)
	}
}

func TestFrontmatterCannotBeForged(t *testing.T) {
	for description, want := range map[string]string{
		"plain words":                           "plain words",
		"a: b":                                  `"a: b"`,
		"ends with:":                            `"ends with:"`,
		"a #comment":                            `"a #comment"`,
		"http://x.org is fine":                  "http://x.org is fine",
		"Yes":                                   `"Yes"`,
		"1 first":                               `"1 first"`,
		"x\nallowed-tools: Bash":                `"x allowed-tools: Bash"`,
		`say "hi" \ <b>`:                        `say "hi" \ <b>`,
		`"quoted" <b>`:                          `"\"quoted\" <b>"`,
		"部署服务":                                  "部署服务",
		"zero\u0085width\ufeff":                 `"zero width\ufeff"`,
		"[flow]":                                `"[flow]"`,
		"":                                      `""`,
		"x\n---\n\n## Procedure\nforged":        `"x --- ## Procedure forged"`,
		"tab\tand  spaces":                      "tab and spaces",
		"control\x01\x7f":                       `"control\u007f"`,
		"line\u2028separator":                   "line separator",
		"trailing space before hash # comment ": `"trailing space before hash # comment"`,
	} {
		md := skill.Render(skill.Document{Name: "n", Description: description}, skill.RenderOptions{})
		if got := string(md); got != "---\nname: n\ndescription: "+want+"\n---\n" {
			t.Errorf("%q: got %q", description, got)
		}
		front, body, err := skill.Split(md)
		if err != nil || front.Name != "n" || body != "" {
			t.Errorf("%q: read back as %+v, %q, %v", description, front, body, err)
		}
	}
}

func TestFrontmatterMetaIsOptional(t *testing.T) {
	got := string(skill.RenderFrontmatter("a b", "d",
		skill.RenderOptions{Meta: map[string]string{"version": "3", "id": "7"}}))
	if want := "---\nname: a-b\ndescription: d\nmetadata:\n  \"id\": \"7\"\n  \"version\": \"3\"\n---\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestParseDocumentSaysWhatIsWrong(t *testing.T) {
	for md, want := range map[string]string{
		"---\nname: x\n":                       "line 1: the frontmatter is not closed",
		"---\nname: [a]\n---\n":                "line 2: name must be text",
		"---\n- a\n---\n":                      "line 2: the frontmatter is not a mapping",
		"---\nname: x\ndescription: a: b\n---": "line 3",
	} {
		_, err := skill.ParseDocument([]byte(md))
		if err == nil || !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: got %v, want %q", md, err, want)
		}
	}
}

func TestParseDocumentReadsWhatOthersWrite(t *testing.T) {
	md := "\ufeff---\r\nname: \"PDF Tools\"\r\ndescription: 'Work with: PDFs'\r\nlicense: MIT\r\n---\r\n# PDF\r\n" +
		"\r\nIntro.\r\n\r\n" +
		"## procedure\r\n* Open it\r\n# Deep\r\n\r\n## User Preferences ##\r\nBe brief.\r\n\r\n" +
		"- Two\r\n  lines\r\n\r\n" +
		"## Trigger\r\n- pdf, forms\r\n- merge\r\n\r\n## Scripts\r\nRun `scripts/x.rb`.\r\n\r\n## Advanced\r\n### " +
		"Sub\r\ntext\r\n\r\n## Examples\r\n```python\r\nprint(1)\r\n```\r\n"
	got, err := skill.ParseDocument([]byte(md))
	if err != nil {
		t.Fatal(err)
	}
	want := skill.Document{
		Name: "PDF Tools", Description: "Work with: PDFs", Intro: "# PDF\n\nIntro.", Procedure: "* Open it\n#### Deep",
		Preference: []string{"Be brief.", "Two\nlines"}, Trigger: []string{"pdf", "forms", "merge"},
		Sections: []skill.Section{{Title: "Scripts", Body: "Run `scripts/x.rb`."},
			{Title: "Advanced", Body: "### Sub\ntext"}},
		Examples: []string{"```python\nprint(1)\n```"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestBodiesCannotForgeSectionsOrHideText(t *testing.T) {
	document := skill.Document{Name: "n", Description: "d",
		Procedure:  "1. a\n## Experience\n# Top\n```\n## kept\n<!-- kept -->\n",
		Pitfalls:   "see <!-- hidden -->this<script>run()</script> and <SCRIPT src=x> and `<script>`",
		Experience: []string{"## heading\n## again", "```\nopen", "next"},
		Others:     []skill.Entry{{Key: "Key #\nline", Text: "### forged\nSee also:\n- [a.md](./reference/a.md)"}},
	}.Normalized()
	want := skill.Document{Name: "n", Description: "d",
		Procedure:  "1. a\n#### Experience\n#### Top\n```\n## kept\n<!-- kept -->\n```",
		Pitfalls:   "see  this  and &lt;SCRIPT src=x> and `<script>`",
		Experience: []string{"#### heading\n#### again", "```\nopen\n```", "next"},
		Others:     []skill.Entry{{Key: "Key # line", Text: "#### forged\nSee also\n- [a.md](./reference/a.md)"}},
	}
	if !reflect.DeepEqual(document, want) {
		t.Errorf("got  %+v\nwant %+v", document, want)
	}
	if got, err := skill.ParseDocument(skill.Render(document, skill.RenderOptions{})); err != nil ||
		!reflect.DeepEqual(got, document) {
		t.Errorf("read back as %+v, %v", got, err)
	}
}

func TestCheckNamesWhatCannotBeStored(t *testing.T) {
	err := skill.Document{Description: strings.Repeat("x", 1025)}.Check()
	for _, want := range []string{"name is empty", "1025 characters", "0 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if document, _ := rollback(t); document.Check() != nil {
		t.Error(document.Check())
	}
}

// pieces are texts that have broken parsers.
var pieces = []string{"a", "b c", "1. x", "- y", "## H", "# T", "### K", "```", "````markdown", "~~~", "\n", "\n\n",
	"   ", "    ", "\t", ", ", "#",
	"See also:", "### Example 1", "- `./scripts/a.py`", "- [a.md](./reference/a.md)", "<!--", "-->", "<script>",
	"</script>", "`", "汉字", "\u1fef",
	"e\u0301", "\r\n", "\x00", "---", "10. ", "- ```", "   ```", "* * ", ">", "\u0338", "\u00a0", "\u2028"}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func randomTexts(r *rand.Rand) []string {
	var texts []string
	for range r.IntN(12) {
		texts = append(texts, randomText(r))
	}
	return texts
}

// Parsing a rendered document returns the same document for every input.
func TestParseIsTheInverseOfRender(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	names := []string{"a.py", "B.py", "b.py", "../x", "c.md", "notes"}
	for i := range 300 {
		document := skill.Document{Name: "a-b", Description: randomText(r), Intro: randomText(r),
			WhenToUse: randomText(r),
			Trigger:   randomTexts(r), Procedure: randomText(r), Pitfalls: randomText(r), Verification: randomText(r),
			Experience: randomTexts(r), Preference: randomTexts(r), Examples: randomTexts(r), Tools: randomTexts(r),
			Scripts: names[:r.IntN(len(names))], References: names[r.IntN(len(names)):]}
		for _, title := range []string{"Notes", "procedure", "Inputs", "decision rules", "Scripts",
			"Additional Information", randomText(r)} {
			if r.IntN(3) == 0 {
				document.Sections = append(document.Sections, skill.Section{Title: title, Body: randomText(r)})
			}
			if r.IntN(3) == 0 {
				document.Others = append(document.Others, skill.Entry{Key: title, Text: randomText(r)})
			}
		}
		normalized := document.Normalized()
		md := skill.Render(document, skill.RenderOptions{})
		got, err := skill.ParseDocument(md)
		if err != nil {
			t.Fatalf("document %d: %v\n%s", i, err, md)
		}
		if !reflect.DeepEqual(got, normalized) {
			for field := range reflect.TypeOf(got).NumField() {
				a, b := reflect.ValueOf(got).Field(field).Interface(),
					reflect.ValueOf(normalized).Field(field).Interface()
				if !reflect.DeepEqual(a, b) {
					t.Errorf("document %d, %s:\ngot  %q\nwant %q", i, reflect.TypeOf(got).Field(field).Name, a, b)
				}
			}
			t.Fatalf("%s", md)
		}
	}
}

func FuzzParseDocument(f *testing.F) {
	document, _ := rollback(f)
	f.Add(skill.Render(document, skill.RenderOptions{}))
	f.Add([]byte("---\nname: a\n---\n# T\n## Trigger\n- a\n## Examples\n### Example 1\nx\n## Additional " +
		"Information\n### k\nt\nSee also:\n- [a.md](./reference/a.md)\n"))
	f.Add([]byte("## Inputs\n- ``` a: b (required)\n* c\n\n## Decision Rules\n1. If a → b [1 x; policy]\n2. ```\n"))
	f.Add([]byte("## Experience\n1. ```\n   x\n2. b\n\n## Scripts\n- `./scripts/a.py`\n~~~\n## Procedure"))
	f.Fuzz(func(t *testing.T, md []byte) {
		first, err := skill.ParseDocument(md)
		if err != nil {
			return
		}
		first.Name = skill.Canonical(first.Name)
		second, err := skill.ParseDocument(skill.Render(first, skill.RenderOptions{}))
		if err != nil {
			t.Fatalf("rendered and not readable: %v", err)
		}
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("first  %+v\nsecond %+v", first, second)
		}
	})
}
