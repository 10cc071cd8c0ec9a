package feishu

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"cairn/internal/domain/channel"
)

// Card returns the JSON of a card (schema 2.0) with a text and buttons. The value of a button is its data and the
// thread of the message, because a press does not state the thread.
func Card(source string, buttons []channel.Choice, thread string) (string, error) {
	elements := []any{map[string]string{"tag": "markdown", "content": Markdown(source)}}
	for _, c := range buttons {
		value := map[string]string{"data": c.Data}
		if thread != "" {
			value["thread"] = thread
		}
		elements = append(elements, map[string]any{
			"tag":       "button",
			"text":      map[string]string{"tag": "plain_text", "content": c.Label},
			"behaviors": []any{map[string]any{"type": "callback", "value": value}},
		})
	}
	raw, err := encode(map[string]any{
		"schema": "2.0",
		"config": map[string]bool{"update_multi": true},
		"body":   map[string]any{"elements": elements},
	})
	return string(raw), err
}

// lessThan shows as <, which otherwise begins a tag, such as one that mentions everybody.
const lessThan = "&#60;"

// Markdown converts Markdown to that of cards, which is Markdown with tags and without images of other servers.
// Tags are shown as they are, and images become links. Code is not changed.
func Markdown(source string) string {
	raw := []byte(source)
	code := codeOf(raw)
	var out strings.Builder
	for at := 0; at < len(raw); {
		if span, ok := spanAt(code, at); ok {
			out.Write(raw[at:span.Stop])
			at = span.Stop
			continue
		}
		rest := raw[at:]
		switch {
		case rest[0] == '\\' && len(rest) > 1 && rest[1] != '<':
			out.Write(rest[:2])
			at += 2
		case rest[0] == '\\' && len(rest) > 1, rest[0] == '<':
			out.WriteString(lessThan)
			at += 1 + bytes.IndexByte(rest, '<')
		case bytes.HasPrefix(rest, []byte("![](")):
			out.WriteString("[image](")
			at += len("![](")
		case bytes.HasPrefix(rest, []byte("![")):
			out.WriteByte('[')
			at += len("![")
		default:
			out.WriteByte(rest[0])
			at++
		}
	}
	return out.String()
}

// spanAt returns the span that begins at a place or contains it.
func spanAt(spans []text.Segment, at int) (text.Segment, bool) {
	i, _ := slices.BinarySearchFunc(spans, at, func(s text.Segment, at int) int { return s.Stop - at - 1 })
	if i < len(spans) && spans[i].Start <= at && at < spans[i].Stop {
		return spans[i], true
	}
	return text.Segment{}, false
}

// codeOf returns the places of code, in their order.
func codeOf(source []byte) (spans []text.Segment) {
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)),
		func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.FencedCodeBlock, *ast.CodeBlock:
				for i := range n.Lines().Len() {
					spans = append(spans, n.Lines().At(i))
				}
			case *ast.CodeSpan:
				for c := n.FirstChild(); c != nil; c = c.NextSibling() {
					if t, ok := c.(*ast.Text); ok {
						spans = append(spans, t.Segment)
					}
				}
			}
			return ast.WalkContinue, nil
		})
	return spans
}
