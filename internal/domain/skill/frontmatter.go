package skill

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"cairn/internal/domain/fault"
)

// RenderOptions are options of a deployment.
type RenderOptions struct {
	NameStyle string            // Hyphen (default) or Underscore
	Meta      map[string]string // optional `metadata:` block, such as the skill's ID and version
}

// RenderFrontmatter returns the YAML block with its markers.
func RenderFrontmatter(name, description string, o RenderOptions) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	fmt.Fprintf(&b, "name: %s\n", scalar(Folder(Canonical(name), o.NameStyle)))
	fmt.Fprintf(&b, "description: %s\n", scalar(clean(description)))
	if len(o.Meta) > 0 {
		b.WriteString("metadata:\n")
		for _, key := range slices.Sorted(maps.Keys(o.Meta)) {
			fmt.Fprintf(&b, "  %s: %s\n", quote(key), quote(o.Meta[key]))
		}
	}
	b.WriteString("---\n")
	return []byte(b.String())
}

var yamlKeywords = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true,
	"off": true, "~": true}

// scalar returns one line of text as a YAML string: plain if that is unambiguous, else
// double-quoted.
func scalar(text string) string {
	text = collapse(text)
	for i, r := range text {
		if i == 0 && !unicode.IsLetter(r) || !yamlPrintable(r) {
			return quote(text)
		}
	}
	if text == "" || strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.HasSuffix(text, ":") ||
		yamlKeywords[strings.ToLower(text)] {
		return quote(text)
	}
	return text
}

// quote returns a JSON string with the characters escaped that YAML rejects. It is then a valid
// double-quoted YAML scalar.
func quote(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return `""`
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	b.Reset()
	for _, r := range quoted {
		if yamlPrintable(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// yamlPrintable matches c-printable of YAML 1.2 without line breaks and the byte order mark.
func yamlPrintable(r rune) bool {
	return r >= ' ' && r <= '~' || r >= 0xA0 && r <= 0xFFFD && r != 0xFEFF && r != 0x2028 && r != 0x2029 || r > 0xFFFF
}

// Frontmatter holds the fields of the YAML block that skills use.
type Frontmatter struct {
	Present     bool
	Name        string
	Description string
}

// Split separates the frontmatter from the body of a SKILL.md. The frontmatter is optional. Line
// numbers in errors are those of the file.
func Split(md []byte) (Frontmatter, string, error) {
	text := strings.TrimPrefix(string(md), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return Frontmatter{}, text, nil
	}
	for i, line := range lines[1:] {
		if line = strings.TrimRight(line, " \t"); line == "---" || line == "..." {
			front, err := decodeFrontmatter(strings.Join(lines[1:i+1], "\n"))
			return front, strings.Join(lines[i+2:], "\n"), err
		}
	}
	return Frontmatter{}, "", fault.New(fault.InvalidArgument, "line 1: the frontmatter is not closed",
		"close it with a line of three hyphens")
}

func decodeFrontmatter(text string) (Frontmatter, error) {
	const hint = "use YAML frontmatter with name and description; quote a value that contains a colon"
	var root yaml.Node
	if err := yaml.Unmarshal([]byte("\n"+text), &root); err != nil { // the newline replaces the opening line
		return Frontmatter{}, fault.Wrap(err, fault.InvalidArgument, "frontmatter", hint)
	}
	front := Frontmatter{Present: true}
	if len(root.Content) == 0 {
		return front, nil
	}
	mapping := root.Content[0]
	if mapping.Kind != yaml.MappingNode {
		return Frontmatter{}, fault.New(fault.InvalidArgument,
			fmt.Sprintf("line %d: the frontmatter is not a mapping", mapping.Line), hint)
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		var field *string
		switch key.Value {
		case "name":
			field = &front.Name
		case "description":
			field = &front.Description
		default:
			continue
		}
		if value.Kind != yaml.ScalarNode {
			return Frontmatter{}, fault.New(fault.InvalidArgument,
				fmt.Sprintf("line %d: %s must be text", value.Line, key.Value), hint)
		}
		if value.Tag != "!!null" {
			*field = value.Value
		}
	}
	return front, nil
}
