package console

import (
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/console/locale"
	"cairn/internal/gateway/console/markdown"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static/*
var staticFiles embed.FS

// versions are the hashes of the static files.
var versions = hashes()

func hashes() map[string]string {
	out := map[string]string{}
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		content, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		out[e.Name()] = hex.EncodeToString(sum[:6])
	}
	return out
}

// static serves a static file. Its address contains its version, so browsers keep it.
func (c *Console) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	content, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		c.newRequest(w, r).fail(fault.New(fault.NotFound, "there is no such file", "open the console again"))
		return
	}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content)
}

// pages are the templates of a language.
type pages struct {
	texts *locale.Texts
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
func parse(tag locale.Tag) *pages {
	p := &pages{texts: locale.Load(tag), byKey: map[string]*template.Template{}}
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
		"markdown": markdown.Render,
		"marked":   marked,
		"diff":     diffLines,
		"clip":     func(n int, text string) string { return clip(text, n) },
		"oneline":  func(text string) string { return strings.Join(strings.Fields(text), " ") },
		"micros":   p.micros,
		"percent":  func(f any) string { return percent(f) },
		"join":     strings.Join,
		"pair":     func(page *view, item any) pair { return pair{page, item} },
		"num":      p.number,
		"text":     func(v any) string { return fmt.Sprint(v) },
		"duration": duration,
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

func percent(f any) string {
	switch v := f.(type) {
	case float32:
		return fmt.Sprintf("%.0f %%", float64(v)*100)
	case float64:
		return fmt.Sprintf("%.0f %%", v*100)
	}
	return fmt.Sprint(f)
}

// piece is a part of a text: characters as they are, or an invisible one by its name.
type piece struct{ Text, Mark string }

// mostShown is the size of a text that a page shows, in bytes. Longer ones would make browsers slow.
const mostShown = 64 << 10

// shortened returns the beginning of a long text, and the number of bytes that are left out.
func shortened(text string) (string, int) {
	if len(text) <= mostShown {
		return text, 0
	}
	end := mostShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], len(text) - end
}

// marked divides a text at its invisible and bidirectional characters, which could show something else than is there.
// Of a long text, it returns the beginning and how much is missing.
func marked(text any) (out []piece) {
	s, cut := shortened(fmt.Sprint(text))
	from := 0
	defer func() {
		if cut > 0 {
			out = append(out, piece{Mark: fmt.Sprintf("+ %d bytes", cut)})
		}
	}()
	for i, r := range s {
		if !invisible(r) {
			continue
		}
		if from < i {
			out = append(out, piece{Text: s[from:i]})
		}
		out = append(out, piece{Mark: fmt.Sprintf("U+%04X", r)})
		from = i + len(string(r))
	}
	if from < len(s) {
		out = append(out, piece{Text: s[from:]})
	}
	return out
}

func invisible(r rune) bool {
	switch r {
	case '\n', '\t', '\r':
		return false
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x180B, 0x180C, 0x180D, 0x180E:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == unicode.ReplacementChar ||
		r >= 0xE0100 && r <= 0xE01EF
}

// diffLine is a line of a unified diff.
type diffLine struct {
	Kind string // add, del, head or same
	Sign string
	Text string
}

// diffLines divides a unified diff.
func diffLines(diff string) (out []diffLine) {
	for line := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n") {
		l := diffLine{Kind: "same", Sign: " ", Text: line}
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
			l.Kind, l.Sign = "head", ""
		case strings.HasPrefix(line, "+"):
			l.Kind, l.Sign, l.Text = "add", "+", line[1:]
		case strings.HasPrefix(line, "-"):
			l.Kind, l.Sign, l.Text = "del", "−", line[1:]
		case strings.HasPrefix(line, " "):
			l.Text = line[1:]
		}
		out = append(out, l)
	}
	return out
}

func newOp() string { return rand.Text() }
