package guard

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leak is a value in a text.
type leak struct {
	window
	term term
}

// Find tells which lines of a text hold values of the set. All are Caution:
// Mask mends them. IDs are personal.name, personal.id, personal.email,
// personal.card, personal.phone, personal.address and personal.birth_date.
func (v ValueSet) Find(text string) []Finding {
	var findings []Finding
	line, at := 1, 0
	for _, l := range v.leaks(text) {
		line += strings.Count(text[at:l.start], "\n")
		at = l.start
		findings = append(findings, Finding{Family: Personal, Severity: Caution, Line: line,
			ID: "personal." + l.term.kind})
	}
	return settled(findings)
}

// Mask puts what kind of value it was in the place of each: [reservation_id],
// [name], [email].
func (v ValueSet) Mask(text string) string {
	var b strings.Builder
	at, named := 0, false // named: a name was written just before
	for _, l := range v.leaks(text) {
		between := text[at:l.start]
		if named = named && between == " " && l.term.label == "name"; !named { // first and last name are one name
			b.WriteString(between + "[" + l.term.label + "]")
		}
		at, named = l.end, l.term.label == "name"
	}
	return b.String() + text[at:]
}

// leaks finds values at the borders of words, the longest first at each place.
func (v ValueSet) leaks(text string) []leak {
	if v.count == 0 {
		return nil
	}
	var found []leak
	for i := 0; i < len(text); {
		first := firstWord(text[i:])
		if first == "" {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		size := wordLength(text[i:])
		for _, t := range v.terms[first] {
			end := i + len(t.text)
			if end <= len(text) && t.equals(text[i:end]) && (endsWord(text, end) || endsHan(t.text)) &&
				(t.weak == alone || v.besideName(text, i, end) || t.weak == inside && insideSentence(text[:i])) {
				found = append(found, leak{window{i, end}, t})
				size = len(t.text)
				break
			}
		}
		i += size
	}
	return found
}

func (t term) equals(text string) bool {
	if t.exact {
		return text == t.text
	}
	return strings.EqualFold(text, t.text)
}

// titles stand before a name.
var titles = []string{"mr", "mrs", "ms", "miss", "dr", "prof", "sir", "madam", "customer", "user", "passenger",
	"client", "guest", "named", "dear"}

// besideName reports a name or a title beside a word that may be either.
func (v ValueSet) besideName(text string, start, end int) bool {
	before := strings.TrimRight(text[:start], " .")
	before = before[wordStart(before):]
	after := strings.TrimLeft(text[end:], " ")
	after = after[:wordLength(after)]
	capital := func(word string) bool {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) && v.names[strings.ToLower(word)]
	}
	return capital(before) || capital(after) || slices.Contains(titles, strings.ToLower(before))
}

// insideSentence reports that a capital after text is no first letter of a
// sentence, a line or an item, so that it is one of a name.
func insideSentence(text string) bool {
	text = strings.TrimRight(text, " ")
	return text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?:;\n#*-|)>")
}

// firstWord is what a text begins with, in lower case: a word of letters,
// digits and underscores, or one Han character; empty at anything else.
func firstWord(text string) string {
	return strings.ToLower(text[:wordLength(text)])
}

// wordLength is the number of bytes of the word that text begins with.
func wordLength(text string) int {
	for i, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			if i == 0 {
				return utf8.RuneLen(r)
			}
			return i
		case !wordRune(r):
			return i
		}
	}
	return len(text)
}

// wordStart is where the last word of text begins.
func wordStart(text string) int {
	i := strings.LastIndexFunc(text, func(r rune) bool { return !wordRune(r) || unicode.Is(unicode.Han, r) })
	if i < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return i + size
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func endsWord(text string, end int) bool {
	if end == len(text) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(text[end:])
	return !wordRune(r) || unicode.Is(unicode.Han, r)
}

func endsHan(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.Han, r)
}
