package skill

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// isEmpty reports whether value is null, "", [] or {}. In every field they mean nothing, or no
// change.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(value) == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return false
	}
}

// isNothing reports whether text is a word that models write instead of null.
func isNothing(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "null", "none", "n/a", "无":
		return true
	}
	return false
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case json.Number, float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

// plain returns the text of a string, number or boolean.
func plain(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return clean(value), true
	case json.Number:
		return value.String(), true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}

// line reads one line of text with at most limit runes.
func (f *fields) line(field string, limit int, names ...string) string {
	value := f.take(names...)
	if value == nil {
		return ""
	}
	text, ok := plain(value)
	if !ok {
		f.fault("%s: want a string, got %s", field, kindOf(value))
		return ""
	}
	return f.shorten(field, collapse(text), limit)
}

func (f *fields) shorten(field, text string, limit int) string {
	if n := utf8.RuneCountInString(text); limit > 0 && n > limit {
		f.note("%s: cut from %d to %d characters", field, n, limit)
		return cut(text, limit)
	}
	return text
}

// list reads a list of texts. A string is one item. Empty and repeated items are removed, and what
// exceeds the limits is cut.
func (f *fields) list(field string, most, limit int, names ...string) []string {
	value := f.take(names...)
	items, ok := value.([]any)
	if !ok && value != nil {
		items = []any{value}
	}
	var texts []string
	for i, item := range items {
		text, ok := plain(item)
		switch {
		case item == nil:
		case !ok:
			f.fault("%s[%d]: want a string, got %s", field, i, kindOf(item))
		case len(items) == 1 && isNothing(text):
		default:
			texts = append(texts, f.shorten(fmt.Sprintf("%s[%d]", field, i), text, limit))
		}
	}
	texts = distinct(texts)
	if len(texts) > most {
		f.note("%s: %d items, the first %d are kept", field, len(texts), most)
		texts = texts[:most]
	}
	return texts
}

var triggerSeparator = regexp.MustCompile(`[,，、;；\n]`)

// triggers reads keywords. Several keywords in one string are separated by commas.
func (f *fields) triggers() []string {
	var words []string
	for _, text := range f.list("trigger", math.MaxInt, 0, "trigger", "triggers", "tags") {
		for _, word := range triggerSeparator.Split(text, -1) {
			words = append(words, f.shorten("trigger", collapse(word), MaxTrigger))
		}
	}
	words = settleTriggers(words)
	if len(words) > MaxTriggers {
		f.note("trigger: %d items, the first %d are kept", len(words), MaxTriggers)
		words = words[:MaxTriggers]
	}
	return words
}

var stepMark = regexp.MustCompile(`^(?:[0-9]{1,3}[.)、]|[-*+])\s+`)

// procedure reads numbered lines, or an array of steps, which it numbers.
func (f *fields) procedure() string {
	value := f.take("procedure")
	if value == nil {
		return ""
	}
	text, ok := plain(value)
	if steps, isList := value.([]any); isList {
		text, ok = f.steps(steps), true
	}
	if !ok {
		f.fault("procedure: want a string, got %s", kindOf(value))
	}
	if n := utf8.RuneCountInString(text); n > MaxProcedure {
		f.fault("procedure: %d characters, at most %d are allowed", n, MaxProcedure)
	}
	return text
}

func (f *fields) steps(steps []any) string {
	var lines []string
	for i, step := range steps {
		if object, ok := step.(map[string]any); ok {
			step = stepText(object)
		}
		text, ok := plain(step)
		if !ok {
			f.fault("procedure[%d]: want a string, got %s", i, kindOf(step))
			continue
		}
		if text = stepMark.ReplaceAllString(text, ""); text != "" {
			text = strings.ReplaceAll(text, "\n", "\n   ")
			lines = append(lines, fmt.Sprintf("%d. %s", len(lines)+1, text))
		}
	}
	return strings.Join(lines, "\n")
}

// stepText returns the sentence of a step that is an object.
func stepText(object map[string]any) any {
	for _, key := range []string{"text", "description", "action", "step", "content"} {
		if text, ok := object[key].(string); ok && text != "" {
			return text
		}
	}
	return object
}

// flag reads a boolean, which may be a string.
func (f *fields) flag(names ...string) bool {
	switch value := f.take(names...).(type) {
	case bool:
		return value
	case string:
		value = strings.ToLower(strings.TrimSpace(value))
		return value == "true" || value == "yes"
	default:
		return false
	}
}
