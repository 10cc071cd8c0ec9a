package telegram

import (
	"bufio"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	render "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.Strikethrough))

// HTML converts Markdown to the HTML that Telegram accepts: b, i, s, code, pre, a and blockquote. Headings become
// bold, and items of lists begin with a dot or a number.
func HTML(source string) string {
	r := &renderer{source: []byte(source)}
	_ = ast.Walk(markdown.Parser().Parse(text.NewReader(r.source)), r.visit) // visit returns no error
	return strings.TrimSpace(r.out.String())
}

type renderer struct {
	source []byte
	out    strings.Builder
}

// tags are the tags of nodes.
func tags(n ast.Node) (open, shut string) {
	switch n := n.(type) {
	case *ast.Heading:
		return "<b>", "</b>"
	case *ast.Emphasis:
		if n.Level > 1 {
			return "<b>", "</b>"
		}
		return "<i>", "</i>"
	case *extast.Strikethrough:
		return "<s>", "</s>"
	case *ast.CodeSpan:
		return "<code>", "</code>"
	case *ast.Blockquote:
		return "<blockquote>", "</blockquote>"
	case *ast.Link:
		return `<a href="` + html.EscapeString(string(n.Destination)) + `">`, "</a>"
	}
	return "", ""
}

func (r *renderer) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		return r.enter(n), nil
	}
	_, shut := tags(n)
	r.out.WriteString(shut)
	if n.Type() == ast.TypeBlock && n.NextSibling() != nil {
		r.out.WriteString(gap(n))
	}
	return ast.WalkContinue, nil
}

// gap is what separates a block from the next one.
func gap(n ast.Node) string {
	if n.Kind() == ast.KindListItem || n.Kind() == ast.KindTextBlock {
		return "\n"
	}
	return "\n\n"
}

func (r *renderer) enter(n ast.Node) ast.WalkStatus {
	open, _ := tags(n)
	r.out.WriteString(open)
	switch n := n.(type) {
	case *ast.Text:
		if raw := n.Segment.Value(r.source); n.IsRaw() { // code
			r.text(raw)
		} else {
			r.prose(raw)
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			r.out.WriteString("\n")
		}
	case *ast.String:
		r.text(n.Value)
	case *ast.AutoLink:
		r.text(n.Label(r.source))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			r.text(at.Value(r.source))
		}
		return ast.WalkSkipChildren
	case *ast.HTMLBlock:
		r.lines(n)
		return ast.WalkSkipChildren
	case *ast.ThematicBreak:
		r.out.WriteString("———")
	case *ast.ListItem:
		r.out.WriteString(marker(n))
	case *ast.FencedCodeBlock:
		r.code(n, string(n.Language(r.source)))
		return ast.WalkSkipChildren
	case *ast.CodeBlock:
		r.code(n, "")
		return ast.WalkSkipChildren
	}
	return ast.WalkContinue
}

// code writes a block of code. Visit separates it from the next block.
func (r *renderer) code(n ast.Node, language string) {
	if language != "" {
		fmt.Fprintf(&r.out, `<pre><code class="language-%s">`, html.EscapeString(language))
	} else {
		r.out.WriteString("<pre>")
	}
	r.lines(n)
	if language != "" {
		r.out.WriteString("</code>")
	}
	r.out.WriteString("</pre>")
}

func (r *renderer) lines(n ast.Node) {
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		r.text(at.Value(r.source))
	}
}

func (r *renderer) text(raw []byte) { r.out.WriteString(html.EscapeString(string(raw))) }

// prose writes a text without its backslashes and with the characters that its entities name.
func (r *renderer) prose(raw []byte) {
	w := bufio.NewWriter(&r.out)
	render.DefaultWriter.Write(w, raw)
	_ = w.Flush() // a strings.Builder accepts everything
}

// deepest is the depth of lists up to which items are indented.
const deepest = 8

// marker is what an item of a list begins with, indented by its depth.
func marker(n *ast.ListItem) string {
	depth := 0
	for p := n.Parent().Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindList {
			depth++
		}
	}
	indent := strings.Repeat("  ", min(depth, deepest))
	list, ok := n.Parent().(*ast.List)
	if !ok || !list.IsOrdered() {
		return indent + "• "
	}
	number := list.Start
	for p := n.PreviousSibling(); p != nil; p = p.PreviousSibling() {
		number++
	}
	return fmt.Sprintf("%s%d. ", indent, number)
}
