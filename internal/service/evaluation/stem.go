package evaluation

import (
	"slices"
	"strings"
)

// irregular are words whose stems follow no rule, as NLTK lists them.
var irregular = map[string]string{"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie",
	"news": "news", "inning": "inning", "innings": "inning",
	"outing": "outing", "outings": "outing", "canning": "canning", "cannings": "canning", "howe": "howe",
	"proceed": "proceed", "exceed": "exceed", "succeed": "succeed"}

// Stem is Porter's stemmer (1980) with the extensions of NLTK, with which the published scores were
// computed. Words must be lower case; characters other than a–z are consonants.
func Stem(word string) string {
	if s, ok := irregular[word]; ok {
		return s
	}
	if len(word) <= 2 {
		return word
	}
	word = final(strip(derived(ending(participle(plural(word))))))
	return word
}

func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

// measure is m of [C](VC)^m[V].
func measure(w string) (m int) {
	for i := 1; i < len(w); i++ {
		if consonant(w, i) && !consonant(w, i-1) {
			m++
		}
	}
	return m
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

// short reports whether a stem ends in consonant, vowel, consonant, and so gets an e back.
func short(w string) bool {
	n := len(w)
	if n == 2 {
		return !consonant(w, 0) && consonant(w, 1)
	}
	return n >= 3 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) &&
		!strings.ContainsRune("wxy", rune(w[n-1]))
}

// rule replaces an ending if its condition holds for the stem.
type rule struct {
	from, to string
	when     func(stem string) bool
}

// apply applies the first rule whose ending matches; no other rule is tried.
func apply(w string, rules []rule) string {
	for _, r := range rules {
		if stem, ok := strings.CutSuffix(w, r.from); ok {
			if r.when == nil || r.when(stem) {
				return stem + r.to
			}
			return w
		}
	}
	return w
}

func any1(stem string) bool { return measure(stem) > 0 }
func any2(stem string) bool { return measure(stem) > 1 }

func plural(w string) string {
	if stem, ok := strings.CutSuffix(w, "ies"); ok && len(w) == 4 {
		return stem + "ie"
	}
	return apply(w, []rule{{"sses", "ss", nil}, {"ies", "i", nil}, {"ss", "ss", nil}, {"s", "", nil}})
}

func participle(w string) string {
	if stem, ok := strings.CutSuffix(w, "ied"); ok {
		if len(w) == 4 {
			return stem + "ie"
		}
		return stem + "i"
	}
	if strings.HasSuffix(w, "eed") {
		return apply(w, []rule{{"eed", "ee", any1}})
	}
	stem, ok := strings.CutSuffix(w, "ed")
	if !ok || !hasVowel(stem) {
		if stem, ok = strings.CutSuffix(w, "ing"); !ok || !hasVowel(stem) {
			return w
		}
	}
	n := len(stem)
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case n >= 2 && stem[n-1] == stem[n-2] && consonant(stem, n-1):
		if strings.ContainsRune("lsz", rune(stem[n-1])) {
			return stem
		}
		return stem[:n-1]
	case measure(stem) == 1 && short(stem):
		return stem + "e"
	}
	return stem
}

// ending replaces y with i after a consonant that is not the first letter.
func ending(w string) string {
	return apply(w, []rule{{"y", "i", func(stem string) bool { return len(stem) > 1 && consonant(stem, len(stem)-1) }}})
}

var (
	long = []rule{{"ational", "ate", any1}, {"tional", "tion", any1}, {"enci", "ence", any1}, {"anci", "ance", any1},
		{"izer", "ize", any1}, {"bli", "ble", any1}, {"alli", "al", any1},
		{"entli", "ent", any1}, {"eli", "e", any1}, {"ousli", "ous", any1}, {"ization", "ize", any1},
		{"ation", "ate", any1}, {"ator", "ate", any1}, {"alism", "al", any1},
		{"iveness", "ive", any1}, {"fulness", "ful", any1}, {"ousness", "ous", any1}, {"aliti", "al", any1},
		{"iviti", "ive", any1}, {"biliti", "ble", any1}, {"fulli", "ful", any1},
		{"logi", "log", func(stem string) bool { return measure(stem+"l") > 0 }}}
	middle = []rule{{"icate", "ic", any1}, {"ative", "", any1}, {"alize", "al", any1}, {"iciti", "ic", any1},
		{"ical", "ic", any1}, {"ful", "", any1}, {"ness", "", any1}}
	last = []string{"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
		"ism", "ate", "iti", "ous", "ive", "ize"}
)

func derived(w string) string {
	if stem, ok := strings.CutSuffix(w, "alli"); ok && any1(stem) {
		return derived(stem + "al")
	}
	return apply(w, long)
}

func strip(w string) string {
	w = apply(w, middle)
	i := slices.IndexFunc(last, func(suffix string) bool { return strings.HasSuffix(w, suffix) })
	if i < 0 {
		return w
	}
	stem := strings.TrimSuffix(w, last[i])
	if !any2(stem) || last[i] == "ion" && !strings.HasSuffix(stem, "s") && !strings.HasSuffix(stem, "t") {
		return w
	}
	return stem
}

func final(w string) string {
	if stem, ok := strings.CutSuffix(w, "e"); ok && (measure(stem) > 1 || measure(stem) == 1 && !short(stem)) {
		w = stem
	}
	if strings.HasSuffix(w, "ll") && measure(w[:len(w)-1]) > 1 {
		return w[:len(w)-1]
	}
	return w
}
