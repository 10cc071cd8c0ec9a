package console

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	tree "text/template/parse"
	"unicode"

	"cairn/internal/testkit"
)

// sources are the template files by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	testkit.Must(t, err)
	for _, f := range files {
		raw, err := templateFiles.ReadFile(f)
		testkit.Must(t, err)
		out[f] = string(raw)
	}
	return out
}

// The content security policy forbids all of these, and a page that needs one would not work.
func TestTemplatesHaveNoActiveAttributes(t *testing.T) {
	t.Parallel()
	active := regexp.MustCompile(
		`(?i)\bhx-on|\bjs:|javascript:|\sstyle=|\son[a-z]+=|<style|<script>|<iframe|<object|srcdoc=`,
	)
	for name, text := range sources(t) {
		if found := active.FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
	for _, bad := range []string{`<a hx-on:click="x">`, `<a href="javascript:x">`, `<p style="x">`, `<p onclick="x">`} {
		if !active.MatchString(bad) {
			t.Errorf("%s is not found", bad)
		}
	}
}

// Only markdown.go makes HTML that is not escaped.
func TestOnlyMarkdownMakesHTML(t *testing.T) {
	t.Parallel()
	unsafe := regexp.MustCompile(`template\.(HTML|HTMLAttr|JS|JSStr|CSS|URL|Srcset)\b`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || path == "markdown.go" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && !strings.HasSuffix(path, "_test.go") {
			if found := unsafe.FindString(string(raw)); found != "" {
				t.Errorf("%s has %s", path, found)
			}
		}
		return err
	})
	testkit.Must(t, err)
}

// used returns the keys of texts that templates name, and all other text between their tags.
func used(t *testing.T) (keys []string, texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	for name, text := range sources(t) {
		trees := map[string]*tree.Tree{}
		parser := tree.New(name)
		parser.Mode = tree.SkipFuncCheck
		_, err := parser.Parse(text, "", "", trees)
		testkit.Must(t, err)
		var plain strings.Builder
		for _, parsed := range trees {
			walk(parsed.Root, &keys, &plain)
		}
		texts[name] = plain.String()
	}
	return keys, texts
}

// walk collects keys and texts below a node.
func walk(node tree.Node, keys *[]string, plain *strings.Builder) {
	switch n := node.(type) {
	case *tree.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			walk(child, keys, plain)
		}
	case *tree.TextNode:
		plain.Write(n.Text)
	case *tree.ActionNode:
		plain.WriteString("·")
		walkPipe(n.Pipe, keys)
	case *tree.IfNode:
		walkPipe(n.Pipe, keys)
		walk(n.List, keys, plain)
		walk(n.ElseList, keys, plain)
	case *tree.RangeNode:
		walkPipe(n.Pipe, keys)
		walk(n.List, keys, plain)
		walk(n.ElseList, keys, plain)
	case *tree.WithNode:
		walkPipe(n.Pipe, keys)
		walk(n.List, keys, plain)
		walk(n.ElseList, keys, plain)
	case *tree.TemplateNode:
		walkPipe(n.Pipe, keys)
	}
}

func walkPipe(pipe *tree.PipeNode, keys *[]string) {
	if pipe == nil {
		return
	}
	for _, c := range pipe.Cmds {
		for i, arg := range c.Args {
			if nested, ok := arg.(*tree.PipeNode); ok {
				walkPipe(nested, keys)
			}
			text, ok := arg.(*tree.StringNode)
			if !ok || i == 0 {
				continue
			}
			name := fmt.Sprint(c.Args[0])
			if name == "t" && i == 1 || i == 2 && (strings.HasSuffix(name, ".Button") ||
				strings.HasSuffix(name, ".Choices") || strings.HasSuffix(name, ".Choose")) {
				*keys = append(*keys, text.Text)
			}
		}
	}
}

func TestEveryTextIsTranslated(t *testing.T) {
	t.Parallel()
	keys, texts := used(t)
	keys = append(append(keys, codeKeys(t)...), "list.all")
	english, chinese := LoadTexts(English), LoadTexts(Chinese)
	if a, b := english.Keys(), chinese.Keys(); !slices.Equal(a, b) {
		t.Errorf("the languages differ: %v", difference(a, b))
	}
	for _, key := range keys {
		if !english.Has(key) {
			t.Errorf("no text %q", key)
		}
	}
	for _, key := range english.Keys() {
		prefix, _, _ := strings.Cut(key, ".")
		if !slices.Contains(keys, key) && !slices.Contains(values, prefix) {
			t.Errorf("the text %q is not used", key)
		}
		verbs := regexp.MustCompile(`%[^%\s]*?[a-z]`)
		if a, b := verbs.FindAllString(
			english.Raw(key),
			-1,
		), verbs.FindAllString(
			chinese.Raw(key),
			-1,
		); !slices.Equal(
			a,
			b,
		) {
			t.Errorf("%s: arguments %v and %v", key, a, b)
		}
	}
	tag := regexp.MustCompile(`(?s)<[^>]*>`)
	attribute := regexp.MustCompile(`(?:title|placeholder|aria-label|alt)="([^"·]*)"`)
	code := regexp.MustCompile(`(?s)<(?:code|kbd)>.*?</(?:code|kbd)>`)
	for name, text := range texts {
		for _, m := range attribute.FindAllStringSubmatch(text, -1) {
			if hasLetter(m[1]) {
				t.Errorf("%s: the attribute %q is not translated", name, m[0])
			}
		}
		text = tag.ReplaceAllString(code.ReplaceAllString(text, ""), " ")
		for word := range strings.FieldsSeq(text) {
			if hasLetter(word) && word != "Cairn" {
				t.Errorf("%s: %q is not translated", name, word)
			}
		}
	}
}

// values are the prefixes of texts that depend on stored values.
var values = []string{
	"bankchange",
	"bankop",
	"case",
	"casesource",
	"choice",
	"learned",
	"instead",
	"kind",
	"effect",
	"state",
	"severity",
	"origin",
	"run",
	"status",
	"done",
	"nav",
	"number",
	"cost",
	"type",
	"action",
	"outcome",
	"call",
	"role",
	"skillop",
	"channel",
	"verdict",
	"review",
	"reason",
	"schedule",
	"firing",
	"day",
	"delivery",
	"update",
	"actor",
	"keys",
	"health",
	"effects",
	"remedy",
	"level",
	"workspace",
	"counted",
	"clock",
	"derived",
	"person",
	"use",
	"policy",
}

// codeKeys are the keys in the Go code: titles of pages.
func codeKeys(t *testing.T) (keys []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	testkit.Must(t, err)
	title := regexp.MustCompile(`[^a-z_.](?:apikey\.[A-Z][a-z]+, )?("[a-z_]+\.[a-z_]+")`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(f)
		testkit.Must(t, err)
		for _, m := range title.FindAllStringSubmatch(string(raw), -1) {
			key, err := strconv.Unquote(m[1])
			testkit.Must(t, err)
			if ext := filepath.Ext(key); ext != ".html" && ext != ".ndjson" && ext != ".go" {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func hasLetter(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

func difference(a, b []string) (out []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			out = append(out, x)
		}
	}
	return out
}

func TestNoticesHaveTexts(t *testing.T) {
	t.Parallel()
	texts := LoadTexts(English)
	for _, n := range notices {
		if !texts.Has("done." + n) {
			t.Errorf("no text for the notice %s", n)
		}
	}
}

func TestInvisibleCharactersAreNamed(t *testing.T) {
	t.Parallel()
	got := ""
	for _, p := range markInvisible("a\u202eb\u200b\x00\tc\n\U000E0041漢é🙂") {
		if p.Mark != "" {
			got += "[" + p.Mark + "]"
		} else {
			got += p.Text
		}
	}
	if want := "a[U+202E]b[U+200B][U+0000]\tc\n[U+E0041]漢é🙂"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
