package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ignorable reports whether a character has no visible form. Such characters can split a visible
// word, or carry invisible text.
func ignorable(r rune) bool {
	return r == 0x00AD || r == 0x034F || r == 0x180E || unicode.Is(unicode.Cf, r) || filler(r) || selector(r) || tag(r)
}

func filler(r rune) bool { return r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 }
func selector(r rune) bool {
	return 0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF
}
func tag(r rune) bool { return 0xE0000 <= r && r <= 0xE007F }

// override reports whether r is a control that changes the display order (CVE-2021-42574).
func override(r rune) bool { return 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069 }

// flags are the only tag sequences that are emoji: a black flag, the region and a cancel tag
// (England, Scotland, Wales).
var flags = []string{"gbeng", "gbsct", "gbwls"}

// scanInvisible scans the raw text, because folding removes these characters.
func scanInvisible(text string) []Finding {
	var findings []Finding
	found := func(severity Severity, line int, id string) {
		findings = append(findings, Finding{Family: Invisible, Severity: severity, Line: line, ID: id})
	}
	line, previous := 1, rune(0)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && size == 1:
			found(Dangerous, line, "invisible.utf8")
		case r == 0:
			found(Dangerous, line, "invisible.nul")
		case tag(r):
			if n := flagTags(previous, text[i:]); n > 0 {
				size, r = n, 0x1F3F4
			} else {
				found(Dangerous, line, "invisible.tag")
			}
		case override(r):
			found(Dangerous, line, "invisible.bidi")
		case r == 0x200E || r == 0x200F || r == 0x061C:
			if !rightToLeft(previous) && !rightToLeft(next) {
				found(Caution, line, "invisible.mark")
			}
		case selector(r):
			if selector(previous) { // one selects a glyph; a run of them encodes bytes
				found(Dangerous, line, "invisible.selector")
			}
		case r == 0x200C || r == 0x200D:
			if !joins(previous, next) {
				found(Caution, line, "invisible.joiner")
			}
		case r == 0x200B:
			if !unspaced(previous) {
				found(Caution, line, "invisible.zero_width")
			}
		case r == 0xFEFF && i == 0, r == 0x00AD: // byte order mark, soft hyphen
		case filler(r), r == 0xFEFF, 0x2060 <= r && r <= 0x206F, r == 0x180E, r == 0x034F:
			found(Caution, line, "invisible.zero_width")
		}
		previous = r
		i += size
	}
	return findings
}

// flagTags returns the length in bytes of the tags of a flag emoji, 0 if text does not start with
// one.
func flagTags(previous rune, text string) int {
	if previous != 0x1F3F4 {
		return 0
	}
	for _, region := range flags {
		var tags strings.Builder
		for _, letter := range region {
			tags.WriteRune(0xE0000 + letter)
		}
		tags.WriteRune(0xE007F)
		if strings.HasPrefix(text, tags.String()) {
			return tags.Len()
		}
	}
	return 0
}

// joins reports whether a joiner between two characters is legitimate: inside an emoji sequence, or
// in a script that uses joiners.
func joins(previous, next rune) bool {
	return pictograph(previous) && pictograph(next) || unicode.In(previous, joinedScripts...)
}

var joinedScripts = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko,
	unicode.Devanagari, unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

func pictograph(r rune) bool {
	return 0x1F000 <= r && r <= 0x1FAFF || 0x2190 <= r && r <= 0x2BFF || r == 0xFE0F || r == 0x20E3
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// unspaced reports whether the script of r uses zero-width spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Khmer, unicode.Lao, unicode.Myanmar, unicode.Tibetan, unicode.Han)
}
