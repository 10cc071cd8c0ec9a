package console

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// most is the limit of a text that is rendered, in bytes. Of longer ones, the beginning is shown as it is.
const most = 64 << 10

var (
	engine = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(asText{}, 1))))
	policy = sanitizer()
)

func sanitizer() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em",
		"strong", "del", "hr", "br", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowStandardURLs()
	p.AllowURLSchemes("http", "https")
	p.AllowRelativeURLs(false)
	p.AllowAttrs("href").OnElements("a")
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// renderMarkdown returns the HTML of a text.
func renderMarkdown(text string) template.HTML {
	var out bytes.Buffer
	if cut := len(text) - most; cut > 0 {
		return template.HTML(
			"<pre>" + html.EscapeString(strings.ToValidUTF8(text[:most], "")) + //nolint:gosec // escaped
				fmt.Sprintf("\n… + %d bytes</pre>", cut),
		)
	}
	if engine.Convert([]byte(text), &out) != nil {
		return template.HTML("<pre>" + html.EscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(policy.SanitizeBytes(out.Bytes())) //nolint:gosec // sanitized
}

// asText renders raw HTML and images as text.
type asText struct{}

// RegisterFuncs registers the functions of the nodes.
func (asText) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, image)
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
}

func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	mark := "["
	if !entering {
		mark = "](" + html.EscapeString(string(n.(*ast.Image).Destination)) + ")"
	}
	_, err := w.WriteString(mark)
	return ast.WalkContinue, err
}

func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	segments := n.(*ast.RawHTML).Segments
	for i := range segments.Len() {
		s := segments.At(i)
		if _, err := w.WriteString(html.EscapeString(string(s.Value(source)))); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	b := n.(*ast.HTMLBlock)
	if !entering {
		if b.HasClosure() {
			_, _ = w.WriteString(html.EscapeString(string(b.ClosureLine.Value(source))))
		}
		_, err := w.WriteString("</pre>\n")
		return ast.WalkContinue, err
	}
	_, _ = w.WriteString("<pre>")
	lines := b.Lines()
	for i := range lines.Len() {
		s := lines.At(i)
		if _, err := w.WriteString(html.EscapeString(string(s.Value(source)))); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkContinue, nil
}
