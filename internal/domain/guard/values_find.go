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

// Find returns a finding for each line of a text that holds values of the set. All are Caution,
// because Mask repairs them. IDs are personal.name, personal.id, personal.email, personal.card,
// personal.phone, personal.address, personal.birth_date, personal.date, personal.amount,
// personal.number and personal.route.
func (v ValueSet) Find(text string) []Finding {
	var findings []Finding
	line, at := 1, 0
	for _, l := range v.leaks(text) {
		line += strings.Count(text[at:l.start], "\n")
		at = l.start
		findings = append(findings, Finding{Family: Personal, Severity: Caution, Line: line,
			ID: "personal." + l.term.kind})
	}
	return sortFindings(findings)
}

// Count returns the number of values in a text by kind.
func (v ValueSet) Count(text string) map[string]int {
	counts := map[string]int{}
	for _, l := range v.leaks(text) {
		counts[l.term.kind]++
	}
	return counts
}

// Mask replaces each value with its kind: [reservation_id], [name], [email].
func (v ValueSet) Mask(text string) string {
	var b strings.Builder
	at, named := 0, false // named: a name was written directly before
	for _, l := range v.leaks(text) {
		between := text[at:l.start]
		if named = named && between == " " &&
			l.term.label == "name"; !named { // adjacent first and last names are one name
			b.WriteString(between + "[" + l.term.label + "]")
		}
		at, named = l.end, l.term.label == "name"
	}
	return b.String() + text[at:]
}

// leaks finds values that do not overlap, the longest first at each position.
func (v ValueSet) leaks(text string) []leak {
	if v.count == 0 {
		return nil
	}
	return apart(slices.Concat(v.termLeaks(text), v.dateLeaks(text), v.amountLeaks(text), v.routeLeaks(text)))
}

// termLeaks finds terms at word boundaries.
func (v ValueSet) termLeaks(text string) []leak {
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
				(t.weak == alone || v.adjacentName(text, i, end) || t.weak == inside && insideSentence(text[:i])) {
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

// titles precede a name.
var titles = []string{"mr", "mrs", "ms", "miss", "dr", "prof", "sir", "madam", "customer", "user", "passenger",
	"client", "guest", "named", "dear"}

// adjacentName reports whether a name or a title is next to an ambiguous word.
func (v ValueSet) adjacentName(text string, start, end int) bool {
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

// insideSentence reports whether a capital after text is inside a sentence, so that it indicates a
// name. The first letter of a sentence, line or list item does not.
func insideSentence(text string) bool {
	text = strings.TrimRight(text, " ")
	return text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?:;\n#*-|)>")
}

// firstWord returns the first word of a text in lower case: letters, digits and underscores, or one
// Han character. It is empty for anything else.
func firstWord(text string) string {
	return strings.ToLower(text[:wordLength(text)])
}

// wordLength returns the length in bytes of the word at the start of text.
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

// wordStart returns the start of the last word of text.
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
