package guard

import (
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/fence"
)

// Kinds of passages.
const (
	QuasiIdentifier = "quasi_identifier" // two or more attributes of one person
	Prose           = "prose"            // repeats what a user wrote about a person
)

// Passage is a sentence about a person that has no value to mask. It names its place, never its text.
type Passage struct {
	Kind       string
	Start, End int      // in bytes of the text
	Line       int      // from 1
	Parts      []string // kinds of the attributes of a quasi-identifier, sorted
}

const (
	gramWords  = 5   // words, or Chinese characters, of a shared sequence
	minGrams   = 4   // of a sentence that can repeat a message
	minHan     = 8   // the same, for Chinese
	sharedPart = 0.6 // of a sentence's sequences that one message has, too
	minParts   = 2   // attributes that identify a person together
)

var (
	attributeKeys = []struct {
		kind string
		key  *regexp.Regexp
	}{
		{"tier", regexp.MustCompile(`(?:^|_)(?:membership|tier|loyalty(?:_\w+)?|member_level|grade|rank)$|会员|等级`)},
		{"city", regexp.MustCompile(`(?:^|_)(?:city|town|hometown|province|residence)$|城市|籍贯|省份|居住地`)},
		{"employer", regexp.MustCompile(`(?:^|_)(?:employer|company|organi[sz]ation|workplace|firm|school|university)` +
			`(?:_name)?$|公司|单位|雇主|学校`)},
		{
			"product",
			regexp.MustCompile(`(?:^|_)(?:product|item|article|plan|subscription|model_name)(?:_name)?$|商品|产品|套餐`),
		},
	}
	attributeShape = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} .,&'’+-]{1,59}$`)
	ageForm        = regexp.MustCompile(`(?i)\b\d{1,3}[- ]years?[- ]old\b|\baged? (?:is )?\d{1,3}\b|\d{1,3}\s?岁`)
	ageLimit       = regexp.MustCompile(`(?i)^\s*(?:or|and|to|-|–|years? (?:or|and))\b|^(?:以上|以下|及以|或以)`)
	person         = regexp.MustCompile(
		`(?i)\b(?:customer|user|passenger|client|guest|traveller|traveler|member|patient|` +
			`caller|subscriber|buyer|man|woman|lady|gentleman|mr|mrs|ms|he|she|his|her|him|who)\b|\[name\]|` +
			`years?[- ]old|客户|用户|乘客|旅客|会员|顾客|患者|先生|女士|小姐|他|她|岁`,
	)
	// somePerson finds a person in the words of a user: themselves, a relative, or another one.
	somePerson = regexp.MustCompile(
		`(?i)\b(?:i|i'm|i've|i'd|my|me|mine|he|she|his|her|him|mother|father|mom|dad|wife|husband|son|` +
			`daughter|friend|sister|brother|customer|passenger|patient)\b|\[name\]|我|他|她|客户|用户|乘客|患者`,
	)
)

// Passages finds the sentences of a text that identify a person without a value that Mask replaces: two
// attributes of one person (tier, age, city, employer, date, product), and prose that shares at least 60 % of
// its five-word sequences with one message of a user. Rules of users and of system prompts are not reported.
// Call it for masked text. Code blocks are skipped.
func (v ValueSet) Passages(text string) (found []Passage) {
	line, at := 1, 0
	for _, s := range sentences(text) {
		sentence := text[s.start:s.end]
		p := Passage{Start: s.start, End: s.end}
		switch parts, private := v.attributesIn(sentence); {
		case len(parts) >= minParts && private && person.MatchString(sentence):
			p.Kind, p.Parts = QuasiIdentifier, parts
		case v.repeats(sentence):
			p.Kind = Prose
		default:
			continue
		}
		line += strings.Count(text[at:s.start], "\n")
		at, p.Line = s.start, line
		found = append(found, p)
	}
	return found
}

// Generalize replaces the attributes of each quasi-identifier with their kinds: "a [tier] member from [city]".
func (v ValueSet) Generalize(text string) string {
	var b strings.Builder
	at := 0
	for _, p := range v.Passages(text) {
		if p.Kind != QuasiIdentifier {
			continue
		}
		sentence := text[p.Start:p.End]
		b.WriteString(text[at:p.Start])
		at = p.End
		from := 0
		for _, l := range v.attributeLeaks(sentence) {
			b.WriteString(sentence[from:l.start] + "[" + l.term.label + "]")
			from = l.end
		}
		b.WriteString(sentence[from:])
	}
	return b.String() + text[at:]
}

// attributesIn returns the kinds of a sentence's attributes, and whether no rule states one of them.
func (v ValueSet) attributesIn(sentence string) (kinds []string, private bool) {
	found := map[string]bool{}
	for _, l := range v.attributeLeaks(sentence) {
		found[l.term.kind] = true
		private = private || !v.stated.words[strings.ToLower(sentence[l.start:l.end])]
	}
	return slices.Sorted(maps.Keys(found)), private
}

// keyedAttributes finds the attributes of persons in documents.
func (v ValueSet) keyedAttributes(sentence string) (found []leak) {
	if len(v.attributes) == 0 {
		return nil
	}
	for i := 0; i < len(sentence); i += step(sentence[i:]) {
		for _, t := range v.attributes[firstWord(sentence[i:])] {
			end := i + len(t.text)
			if end <= len(sentence) && t.equals(sentence[i:end]) && (endsWord(sentence, end) || endsHan(t.text)) {
				found = append(found, leak{window{i, end}, t})
				break
			}
		}
	}
	return found
}

// attributeLeaks finds attributes of the case's persons.
func (v ValueSet) attributeLeaks(sentence string) []leak {
	found := v.keyedAttributes(sentence)
	for _, at := range ageForm.FindAllStringIndex(sentence, -1) {
		if !ageLimit.MatchString(sentence[at[1]:]) {
			found = append(found, leak{window{at[0], at[1]}, term{kind: "age", label: "age"}})
		}
	}
	found = append(found, v.dateLeaks(sentence)...)
	return apart(found)
}

// apart sorts leaks and removes those that overlap an earlier or a longer one.
func apart(found []leak) (out []leak) {
	slices.SortStableFunc(found, func(a, b leak) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	for _, l := range found {
		if len(out) == 0 || l.start >= out[len(out)-1].end {
			out = append(out, l)
		}
	}
	return out
}

// attribute adds an attribute of a person in a document.
func (c *collector) attribute(key, value string) {
	if !attributeShape.MatchString(value) || countDigits(value) == len(value) {
		return
	}
	for _, a := range attributeKeys {
		if a.key.MatchString(key) {
			c.attributes[term{text: value, kind: a.kind, label: a.kind}] = true
			return
		}
	}
}

// repeats reports whether a sentence about a person repeats a user's message.
func (v ValueSet) repeats(sentence string) bool {
	own := grams(sentence)
	least := minGrams
	if isHan(strings.TrimLeftFunc(sentence, func(r rune) bool { return !unicode.IsLetter(r) })) {
		least = minHan
	}
	if len(own) < least || len(v.messages) == 0 || !somePerson.MatchString(sentence) {
		return false
	}
	general, shared := 0, map[int32]int{}
	for _, g := range own {
		if v.stated.grams[g] {
			general++
			continue
		}
		for _, message := range v.messages[g] {
			shared[message]++
		}
	}
	enough := func(n int) bool { return float64(n) >= sharedPart*float64(len(own)) }
	return !enough(general) && slices.ContainsFunc(slices.Collect(maps.Values(shared)), enough)
}

// remember indexes the sequences of what users wrote, masked like the text that is compared with it.
func (v *ValueSet) remember(messages []transcript.Message) {
	v.messages = map[uint64][]int32{}
	for i, m := range messages {
		if !m.FromHuman() {
			continue
		}
		for _, g := range grams(v.Mask(m.Content)) {
			v.messages[g] = append(v.messages[g], int32(i))
		}
	}
}

// grams returns the hashes of a text's different sequences of five words. A Chinese character is a word.
func grams(text string) []uint64 {
	var words []string
	for i := 0; i < len(text); {
		if word := firstWord(text[i:]); word != "" {
			words = append(words, word)
		}
		i += step(text[i:])
	}
	seen := map[uint64]bool{}
	for i := 0; i+gramWords <= len(words); i++ {
		h := fnv.New64a()
		for _, word := range words[i : i+gramWords] {
			_, _ = h.Write([]byte(word + "\x00"))
		}
		seen[h.Sum64()] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// listMark is the mark of a list item or a heading at the start of a line.
var listMark = regexp.MustCompile(`^\s*(?:#{1,6}\s+|>\s*)*(?:[-*•+]\s+|\d{1,3}[.)、]\s*)?(?:\[[ x]\]\s+)?`)

// sentences returns the sentences of a text outside of code blocks, without list marks and blanks around them.
func sentences(text string) (out []window) {
	code, offset := fence.Scanner{}, 0
	for line := range strings.Lines(text) {
		start := offset
		offset += len(line)
		if code.Line(strings.TrimSpace(line)) {
			continue
		}
		end := start + len(strings.TrimRight(line, " \r\n\t"))
		at := min(start+len(listMark.FindString(line)), end)
		for i := at; i < end; {
			r, size := utf8.DecodeRuneInString(text[i:])
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			i += size
			stop := strings.ContainsRune(".!?", r) && (unicode.IsSpace(next) || i == end)
			if (stop || strings.ContainsRune("。！？；", r)) && !endsTitle(text[at:i]) {
				out, at = append(out, window{at, i}), i+len(text[i:end])-len(strings.TrimLeft(text[i:end], " "))
			}
		}
		if at < end {
			out = append(out, window{at, end})
		}
	}
	return out
}

// endsTitle reports whether a full stop ends a title, such as "Mr.".
func endsTitle(text string) bool {
	word := strings.TrimSuffix(text, ".")
	return word != text && slices.Contains(titles[:5], strings.ToLower(word[wordStart(word):]))
}
