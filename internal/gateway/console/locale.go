package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

//go:embed en.json zh.json
var files embed.FS

// languageTag is a language of the console.
type languageTag string

// The languages. English is used for all others.
const (
	English languageTag = "en"
	Chinese languageTag = "zh"
)

// languageTags are all languages.
var languageTags = []languageTag{English, Chinese}

var matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// matchLanguage returns the language that a browser prefers.
func matchLanguage(acceptLanguage string) languageTag {
	wanted, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return English
	}
	_, i, confidence := matcher.Match(wanted...)
	if confidence == language.No {
		return English
	}
	return languageTags[i]
}

// texts are the texts of a language by their keys.
type texts struct {
	tag     languageTag
	keys    map[string]string
	printer *message.Printer
}

// LoadTexts returns the texts of a language. It panics if its file is broken, which the tests find.
func LoadTexts(tag languageTag) *texts {
	raw, err := files.ReadFile(string(tag) + ".json")
	if err != nil {
		panic(err)
	}
	t := &texts{tag: tag, keys: map[string]string{}}
	if err := json.Unmarshal(raw, &t.keys); err != nil {
		panic(fmt.Sprintf("%s.json: %v", tag, err))
	}
	of := language.MustParse(string(tag))
	texts := catalog.NewBuilder(catalog.Fallback(language.English))
	for key, text := range t.keys {
		if err := texts.SetString(of, key, text); err != nil {
			panic(fmt.Sprintf("%s.json: %s: %v", tag, key, err))
		}
	}
	t.printer = message.NewPrinter(of, message.Catalog(texts))
	return t
}

// Has reports whether there is a text with a key.
func (t *texts) Has(key string) bool {
	_, ok := t.keys[key]
	return ok
}

// Raw returns the text with a key, without its arguments.
func (t *texts) Raw(key string) string { return t.keys[key] }

// Keys returns the keys in order.
func (t *texts) Keys() []string {
	out := make([]string, 0, len(t.keys))
	for key := range t.keys {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// Text returns the text with a key, with its arguments. Numbers are formatted for the language. A key without a text
// is returned as it is.
func (t *texts) Text(key string, args ...any) string {
	text, ok := t.keys[key]
	if !ok {
		return key
	}
	if len(args) == 0 && !strings.Contains(text, "%") { // the printer takes ten times as long
		return text
	}
	return t.printer.Sprintf(key, args...)
}

// Or returns the text of prefix.value, and the value itself if there is none: values such as a status that a later
// version adds.
func (t *texts) Or(prefix string, value any) string {
	key := fmt.Sprintf("%s.%v", prefix, value)
	if !t.Has(key) {
		return fmt.Sprint(value)
	}
	return t.Text(key)
}
