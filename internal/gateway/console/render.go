package console

import (
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"

	"cairn/internal/domain/fault"
)

//go:embed templates/*.html
var templateFiles embed.FS

// static serves a static file.
func (c *Console) static(w http.ResponseWriter, r *http.Request) {
	if !serveStatic(w, r.PathValue("file")) {
		c.newRequest(w, r).fail(fault.New(fault.NotFound, "there is no such file", "open the console again"))
	}
}

// pages are the templates of a language.
type pages struct {
	texts *texts
	byKey map[string]*template.Template
}

// execute writes a page.
func (p *pages) execute(w io.Writer, page string, v *view) error {
	t, ok := p.byKey[page]
	if !ok {
		return fmt.Errorf("unknown page %q", page)
	}
	return t.ExecuteTemplate(w, "layout.html", v)
}

// parse reads the templates for a language. Each page is a set of its own with the layout and the parts.
func parse(tag languageTag) *pages {
	p := &pages{texts: LoadTexts(tag), byKey: map[string]*template.Template{}}
	shared := template.Must(template.New("").Funcs(p.functions()).ParseFS(templateFiles, "templates/layout.html",
		"templates/parts.html"))
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		page := template.Must(shared.Clone())
		p.byKey[name] = template.Must(page.ParseFS(templateFiles, "templates/"+e.Name()))
	}
	return p
}

func (p *pages) functions() template.FuncMap {
	return template.FuncMap{
		"t":        p.texts.Text,
		"value":    p.texts.Or,
		"markdown": renderMarkdown,
		"marked":   markInvisible,
		"diff":     diffLines,
		"clip":     func(n int, text string) string { return clipText(text, n) },
		"oneline":  func(text string) string { return strings.Join(strings.Fields(text), " ") },
		"micros":   p.micros,
		"percent":  showPercent,
		"join":     strings.Join,
		"pair":     func(page *view, item any) pair { return pair{page, item} },
		"num":      p.number,
		"text":     func(v any) string { return fmt.Sprint(v) },
		"duration": showDuration,
		"add":      func(a, b int) int { return a + b },
	}
}

// pair gives a part of a page both the page and its item.
type pair struct {
	Page *view
	Item any
}

// number formats a number for the language.
func (p *pages) number(n any) string { return p.texts.Text("number", n) }

// micros formats a cost in micro-dollars. Without a price it is not known, which is not 0.
func (p *pages) micros(cost any) string {
	switch v := cost.(type) {
	case *int64:
		if v == nil {
			return p.texts.Text("cost.unpriced")
		}
		return p.texts.Text("cost.dollars", float64(*v)/1e6)
	case int64:
		return p.texts.Text("cost.dollars", float64(v)/1e6)
	}
	return p.texts.Text("cost.unpriced")
}

func newOp() string { return rand.Text() }
