package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Distances in half words.
const (
	sentenceGap = 1000 // between two sentences
	clauseGap   = 2    // for a comma
	breakGap    = 8    // for a semicolon
	urlBytes    = 400
)

// reader reads the words of a text. loose accepts words without boundaries, for text whose blanks
// mean nothing.
type reader struct {
	*lexicon
	text  string
	loose bool
	hits  []hit
	at    int  // position in half words
	digit bool // the last word is a number
}

// hitsIn returns the words of all groups in folded text, in order.
func (l *lexicon) hitsIn(text string, loose bool) []hit {
	r := reader{lexicon: l, text: text, loose: loose}
	previous, proclitic := ' ', false
	for i := 0; i < len(text); {
		now, size := utf8.DecodeRuneInString(text[i:])
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		inside := spelled(now) && spelled(previous)
		switch {
		case ends(now, next):
			r.at += sentenceGap
		case now == ';', now == '؛':
			r.at += breakGap
		case pauses(now, next):
			r.at += clauseGap
		case solid(now):
			r.at++
		case spelled(now) && !inside && !strings.ContainsRune("./:@", previous):
			if !r.digit || !unicode.IsDigit(now) { // a number in groups is one word
				r.at += 2
			}
			r.digit = unicode.IsDigit(now)
		}
		proclitic = !inside && clitic(now) || proclitic && inside && clitic(now)
		skip := size
		switch {
		case separates(now):
		case !inside || loose:
			skip = max(size, r.entry(i, false))
		case proclitic || clitic(previous) && unicode.Is(unicode.Arabic, now) && arabicPrefix(text[:i]):
			r.entry(i, false)
		case 0x1100 <= now && now <= 0x1112:
			r.entry(i, true)
		}
		previous, _ = utf8.DecodeLastRuneInString(text[:i+skip])
		i += skip
	}
	return r.hits
}

// entry adds the entries that start at offset i. It returns the number of bytes to skip: an address
// is one word.
func (r *reader) entry(i int, inner bool) int {
	var node int32
	var found []hit
	harmless := r.groups["harmless"]
	walk(r.text[i:], func(c rune, end int) bool {
		if node = r.step(node, c); node == 0 {
			return false
		}
		after, _ := utf8.DecodeRuneInString(r.text[i+end:])
		for _, e := range r.ends[node] {
			if (!inner || e.inner) && (e.open || r.loose || !spelled(after) || !spelled(c)) {
				found = append(found, hit{e.groups, e.langs, r.at, r.at + halfWords(r.text[i:i+end]), i, i + end})
			}
		}
		return true
	})
	if len(found) == 0 {
		return 0
	}
	if last := found[len(found)-1]; last.groups.meets(harmless) {
		return last.end - i
	}
	r.hits = append(r.hits, found...)
	if strings.HasPrefix(r.text[i:], "http") {
		return address(r.text[i:])
	}
	return 0
}

// address returns the length of the address at the start of text.
func address(text string) int {
	for i, c := range text[:min(len(text), urlBytes)] {
		if c <= ' ' || c == '"' || c == '`' || c == ')' || c == '>' || solid(c) {
			return i
		}
	}
	return 0
}

// halfWords returns the distance from the start of the first to the start of the last word.
func halfWords(text string) (n int) {
	previous := ' '
	for i, c := range text {
		switch {
		case i == 0:
		case solid(c):
			n++
		case spelled(c) && !spelled(previous) && !strings.ContainsRune("./:@", previous):
			n += 2
		}
		previous = c
	}
	return n
}

// ends reports whether a sentence ends at c.
func ends(c, next rune) bool {
	switch c {
	case '。', '！', '？', '!', '?', '؟', '۔', '।':
		return true
	case '.':
		return !spelled(next) && next != '/' && next != '.'
	case '\n':
		return strings.ContainsRune("-*•>|0123456789+\n", next)
	}
	return false
}

// pauses reports whether a clause ends at c.
func pauses(c, next rune) bool {
	switch c {
	case ',', '、', '،', '(', ')', '—', '–':
		return true
	case ':':
		return next != '/'
	}
	return false
}

// clitic reports whether c can be a particle before an Arabic word: and, so, with, like, for, the.
func clitic(c rune) bool { return strings.ContainsRune("وفبكلاس", c) }

// arabicPrefix reports whether the word that ends text consists of at most three particles.
func arabicPrefix(text string) bool {
	for range 4 {
		c, size := utf8.DecodeLastRuneInString(text)
		if !spelled(c) {
			return true
		}
		if !clitic(c) {
			return false
		}
		text = text[:len(text)-size]
	}
	return false
}
