package guard

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// wordFile is the format of patterns/languages.yaml.
type wordFile struct {
	Rules []struct {
		ID       string   `yaml:"id"`
		Family   Family   `yaml:"family"`
		Scope    string   `yaml:"scope"`
		Severity Severity `yaml:"severity"`
		All      []string `yaml:"all"`     // a sentence needs a word of each; a|b is either group
		Verb     string   `yaml:"verb"`    // a negation of it makes the sentence harmless
		Unless   string   `yaml:"unless"`  // a word of this group makes the sentence harmless
		Reach    int      `yaml:"reach"`   // words between two groups, defaultGap by default
		Pair     []string `yaml:"pair"`    // two groups that stand side by side
		Negated  int      `yaml:"negated"` // words between a negation and the verb, 3 by default
	} `yaml:"rules"`
	Words map[string]map[string]string `yaml:"words"` // by group and language
}

// lexicon finds the words of all groups and languages in one pass. It is a trie of bytes.
type lexicon struct {
	next   map[uint64]int32 // by node and byte
	ends   map[int32][]ending
	nodes  int32
	groups map[string]groups
	rules  []wordRule
}

// groups is a set of groups of words.
type groups [2]uint64

func (g groups) meets(other groups) bool { return g[0]&other[0]|g[1]&other[1] != 0 }

func (g groups) with(other groups) groups { return groups{g[0] | other[0], g[1] | other[1]} }

// ending is the end of an entry in the trie.
type ending struct {
	groups groups
	langs  uint64
	open   bool // more letters can follow
	inner  bool // it can start within a word
}

// hit is a word of one or more groups. Its positions count half words, because a Chinese character
// is about half a word.
type hit struct {
	groups      groups
	langs       uint64 // bits of the languages
	first, last int
	start, end  int // bytes of the text
}

var wordLists = sync.OnceValue(loadLexicon)

// loadLexicon panics on an invalid file, because the file is embedded.
func loadLexicon() *lexicon {
	var file wordFile
	readPatterns("patterns/languages.yaml", &file)
	l := &lexicon{next: map[uint64]int32{}, ends: map[int32][]ending{}, nodes: 1, groups: map[string]groups{}}
	for group := range file.Words {
		var bit groups
		bit[len(l.groups)/64] = 1 << (len(l.groups) % 64)
		l.groups[group] = bit
	}
	languages := map[string]uint64{"any": ^uint64(0)}
	for group, lists := range file.Words {
		for language, list := range lists {
			if languages[language] == 0 {
				languages[language] = 1 << (len(languages) - 1)
			}
			for entry := range strings.SplitSeq(list, ",") {
				l.addForms(strings.TrimSpace(entry), l.groups[group], languages[language])
			}
		}
	}
	for _, r := range file.Rules {
		scope, known := scopes[r.Scope]
		if !known || r.ID == "" || r.Family == "" || len(r.All) == 0 {
			panic(fmt.Sprintf("guard: rule %q of languages.yaml is incomplete", r.ID))
		}
		w := wordRule{rule: rule{id: r.ID, family: r.Family, severity: r.Severity, scope: scope, mention: true},
			verb: l.mask(r.Verb), unless: l.mask(r.Unless), gap: defaultGap, negated: negated}
		if r.Reach > 0 {
			w.gap = 2 * r.Reach
		}
		if r.Negated > 0 {
			w.negated = 2 * r.Negated
		}
		for i, group := range r.Pair {
			w.pair[i] = l.mask(group)
		}
		for _, names := range r.All {
			w.needs = append(w.needs, l.mask(names))
			w.mask = w.mask.with(l.mask(names))
		}
		l.rules = append(l.rules, w)
	}
	return l
}

// mask returns the bits of groups such as "send|show".
func (l *lexicon) mask(names string) (mask groups) {
	if names == "" {
		return mask
	}
	for group := range strings.SplitSeq(names, "|") {
		bit, known := l.groups[group]
		if !known {
			panic(fmt.Sprintf("guard: unknown group %q in languages.yaml", group))
		}
		mask = mask.with(bit)
	}
	return mask
}

// addForms adds an entry in lower case, in upper case and with a capital, because folding depends on
// the case of a letter.
func (l *lexicon) addForms(entry string, group groups, language uint64) {
	lower := strings.ToLower(entry)
	for _, form := range []string{entry, strings.ToUpper(lower), capital(lower)} {
		l.add(form, group, language)
	}
}

func capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

func (l *lexicon) add(entry string, group groups, language uint64) {
	text, open := strings.CutSuffix(entry, "*")
	text = strings.Trim(fold(text).text, "\n")
	var node int32
	var last rune
	letters := 0
	walk(text, func(r rune, _ int) bool {
		node = l.child(node, r)
		last = r
		letters++
		return true
	})
	if node == 0 {
		panic(fmt.Sprintf("guard: empty word %q in languages.yaml", entry))
	}
	first, _ := utf8.DecodeRuneInString(text)
	syllables := strings.Count(strings.Map(leading, text), "x")
	suffixes := unicode.Is(unicode.Hangul, last) || unicode.Is(unicode.Arabic, last) && letters > 3
	e := ending{groups: group, langs: language, open: open || suffixes, inner: solid(first) || syllables > 1}
	for i, old := range l.ends[node] {
		if old.open == e.open && old.inner == e.inner {
			l.ends[node][i].groups, l.ends[node][i].langs = old.groups.with(group), old.langs|language
			return
		}
	}
	l.ends[node] = append(l.ends[node], e)
}

// leading maps the first letter of a Korean syllable to x.
func leading(r rune) rune {
	if 0x1100 <= r && r <= 0x1112 {
		return 'x'
	}
	return '.'
}

// child returns the node after r, and makes it if needed.
func (l *lexicon) child(node int32, r rune) int32 {
	for _, b := range []byte(string(r)) {
		key := uint64(node)<<8 | uint64(b)
		next, known := l.next[key]
		if !known {
			next = l.nodes
			l.nodes++
			l.next[key] = next
		}
		node = next
	}
	return node
}

// step returns the node after r, 0 if no entry continues so.
func (l *lexicon) step(node int32, r rune) int32 {
	var buffer [utf8.UTFMax]byte
	for _, b := range buffer[:utf8.EncodeRune(buffer[:], r)] {
		if node = l.next[uint64(node)<<8|uint64(b)]; node == 0 {
			return 0
		}
	}
	return node
}

// walk calls visit for the runes of folded text, with the offset after each, until it returns false. A
// run of white space, quotes and marks is one blank.
func walk(text string, visit func(r rune, end int) bool) {
	blank := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case separates(r):
			blank = true
			continue
		case blank && !visit(' ', i-size):
			return
		}
		blank = false
		if !visit(r, i) {
			return
		}
	}
}

// separates reports whether r only separates words.
func separates(r rune) bool {
	switch r {
	case ' ', '\n', '*', '_', '"', '\'', '`', '~', '|', '#', '-', '’', '‘', '“', '”', '„', '«', '»', '「', '」', '『', '』',
		'[', ']', '<', '>', '‐', '–', '=', '+', '^', '·', '…':
		return true
	}
	return false
}

// spelled reports whether r belongs to a word of a script with blanks between words.
func spelled(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !solid(r)
}

// solid reports whether the script of r has no blanks between words.
func solid(r rune) bool {
	return r > 0x2E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー'
}
