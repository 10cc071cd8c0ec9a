package memoryrules

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript/fence"
)

// Sentence is one sentence with its marks.
type Sentence struct {
	Text       string // masked
	Raw        string
	Heading    string // Markdown heading above it
	Role       string
	Index      int  // of its message
	Ordered    bool // has a list number, or a word such as "then"
	Question   bool
	Imperative bool
	Rule       bool // states an obligation or a prohibition
	Wish       bool // states a lasting preference of its speaker
	Lesson     bool // states a failure, a caution or a remedy
	Greeting   bool
}

var (
	actions  = Words("actions")
	ends     = regexp.MustCompile(`[。！？；]|[.!?] `)
	andThen  = regexp.MustCompile(`(?i), (?:and |then |and then )((?:` + strings.Join(list("actions"), "|") + `)\b)`)
	bullet   = regexp.MustCompile(`(?m)^\s*(?:[-*•]\s+|(\d{1,2}[.)、]|第[一二三四五六七八九十]步[，,：:]?|[Ss]tep \d+[:.]?)\s*)`)
	sequence = regexp.MustCompile(`(?i)^(?:and )?(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|finally|` +
		`lastly|after that|afterwards|before that)(?:[ ,:]+|$)|^(?:首先|先|其次|然后|接着|接下来|之后|最后|再)[ ,，:：]*`)
	annotateManner = regexp.MustCompile(`(?i)^(?:please|always|never|do not|don't) `)
	orderHan       = regexp.MustCompile(`^(?:请|确保|不要)`)
	ruleWords      = regexp.MustCompile(`(?i)\b(?:must|never|always|only|can't|can ?not|should|shall|do not|don't|at ` +
		`most|at least|require[ds]?|needs? to|unless|not allowed)\b|必须|不得|只能|不能|禁止|应当|应该|务必|最多|至少|一律|不要`)
	wishWords = regexp.MustCompile(`(?i)\b(?:always|never|prefer(?:s|red)?|from now on|in (?:the )?future|every ` +
		`time|each time|by default)\b|总是|永远|以后|今后|每次|偏好|更喜欢|习惯|务必|一律|不要`)
	lessonWord = regexp.MustCompile(`(?i)\b(?:turned out|turns out|the (?:problem|cause|reason|fix|trick) ` +
		`(?:is|was)|lesson|mistake|gotcha|careful|make sure|remember to|be aware|otherwise|instead of|forgot|failed ` +
		`because)\b|原来|教训|注意|记得|小心|否则|原因是|忘了|解决办法|解决方法`)
	helped = regexp.MustCompile(`(?i)^(?:it|that|this)\b.*\b(?:worked|works ` +
		`now|helped|fixed|solved)\b|^这样就?(?:好了|可以了|解决了)`)
	hello = regexp.MustCompile(`(?i)^(?:hi|hey|hello|thanks?|thank you|good ` +
		`(?:morning|afternoon|evening)|bye|goodbye|you're welcome|welcome|cheers|你好|您好|谢谢|多谢|再见|早上好|不客气|辛苦了)`)
)

// Sentences divides a message into sentences, without code, and marks each sentence.
func (k Mask) Sentences(m prompt.Message) []Sentence {
	var out []Sentence
	heading, code := "", fence.Scanner{}
	for line := range strings.Lines(m.Content) {
		line = strings.TrimSpace(line)
		if code.Line(line) {
			continue
		}
		if strings.HasPrefix(line, "#") {
			heading = strings.Trim(line, "# ")
			continue
		}
		mark := bullet.FindStringSubmatch(line)
		numbered := mark != nil && mark[1] != ""
		for _, raw := range split(bullet.ReplaceAllString(line, "")) {
			s := Sentence{Text: k.Hide(raw, m.Role == "system"), Raw: raw, Heading: heading, Role: m.Role,
				Index: m.Index}
			s.Ordered, numbered = numbered || sequence.MatchString(raw), false
			s.mark()
			if last := len(out) - 1; last >= 0 && out[last].Imperative && helped.MatchString(raw) {
				out[last].Lesson = true
				out[last].Text += " " + s.Text
				continue
			}
			out = append(out, s)
		}
	}
	return out
}

// split divides a line into sentences. A full stop must be followed by white space. Each action of
// an ordered sentence becomes a separate sentence.
func split(line string) []string {
	var out []string
	for text := range strings.SplitSeq(ends.ReplaceAllString(line, "$0\n"), "\n") {
		if text = strings.TrimSpace(text); sequence.MatchString(text) {
			text = andThen.ReplaceAllString(text, ".\nthen $1")
		}
		if utf8.RuneCountInString(text) > 1 {
			out = append(out, strings.Split(text, "\n")...)
		}
	}
	return out
}

// mark sets the marks that follow from the text alone.
func (s *Sentence) mark() {
	plain := Plain(s.Text)
	first := strings.ToLower(word.FindString(annotateManner.ReplaceAllString(plain, "")))
	s.Question = strings.ContainsAny(s.Text, "?？") || strings.HasSuffix(s.Text, "吗")
	s.Imperative = !s.Question && (actions[first] || orderHan.MatchString(plain) || s.Ordered &&
		lang.Detect(plain) == lang.Chinese)
	s.Rule = !s.Question && ruleWords.MatchString(s.Text)
	s.Wish = !s.Question && wishWords.MatchString(s.Text)
	s.Lesson = !s.Question && lessonWord.MatchString(s.Text)
	s.Greeting = hello.MatchString(s.Text) && len(Terms(s.Text)) <= 2
}

// Plain returns a sentence without a leading sequence word, such as "then".
func Plain(text string) string { return sequence.ReplaceAllString(text, "") }

// Lines returns the lines of a list without numbers and bullets.
func Lines(list string) []string {
	return Distinct(strings.Split(bullet.ReplaceAllString(list, ""), "\n"), len(list))
}

var (
	vague, annotateFillers, bounds = Words("vague"), Words("fillers"), Words("bounds")

	asked = regexp.MustCompile(`(?i)\b(?:(?:want|need|like|wish|trying|try|help|hope|love|wanted|able|planning) ` +
		`(?:you |me |us )?to|(?:can|could) (?:you|i|we)|help (?:me|us)|please|would you|let's|how ` +
		`(?:do|can|should|would) (?:i|we|you|one)|how to)` +
		` (?:please |also |just |then |kindly |maybe |possibly |help (?:me )?|to )*([a-z]{3,})\s+([^.,;:!?\n()]+)`)
	askedHan = regexp.MustCompile(`(?:我想要?|我要|我需要|我们要|请问|麻烦你?|帮我|帮忙|如何|怎么样?|怎样|能不能|可以)(?:帮我|请|去|怎么|如何)?([\p{Han}` +
		`A-Za-z0-9 ]{2,16})`)
	partOf   = regexp.MustCompile(`(?i)^(?:one|some|any|all|both|each) of `)
	plural   = regexp.MustCompile(`(..[^sui])s$`)
	noiseHan = regexp.MustCompile(`一下|一个|一次|一份|一篇|一些|我们的|我的|这个|那个|你的|[的了吗呢吧呀啊].*$`)
)

// Asks returns users' requests as verb and object, most frequent first.
// Example: "please rotate the old keys" gives "rotate key".
func Asks(sentences []Sentence) []string {
	var out []string
	for _, s := range sentences {
		if s.Role != "user" || s.Wish {
			continue
		}
		pairs := asked.FindAllStringSubmatch(s.Text, -1)
		if verb, rest, _ := strings.Cut(s.Text, " "); actions[strings.ToLower(verb)] {
			pairs = append(pairs, []string{s.Text, verb, rest})
		}
		for _, pair := range pairs {
			verb, object := strings.ToLower(pair[1]), object(pair[2], sentences)
			if object != "" && !vague[verb] && !IsStop(verb) {
				out = append(out, verb+" "+object)
			}
		}
		for _, match := range askedHan.FindAllStringSubmatch(s.Text, -1) {
			phrase := noiseHan.ReplaceAllString(strings.TrimSpace(match[1]), "")
			if n := utf8.RuneCountInString(phrase); n >= 2 && n <= 10 {
				out = append(out, phrase)
			}
		}
	}
	return Frequent(out, 6)
}

// object returns the head of the noun phrase at the start of a text. If users repeat the head with
// the word before it, it returns both words.
func object(text string, sentences []Sentence) string {
	var phrase []string
	for _, written := range strings.Fields(partOf.ReplaceAllString(text, "")) {
		w := strings.ToLower(strings.Trim(written, `"'*()`+"`"))
		foreign := func(r rune) bool { return !unicode.Is(unicode.Latin, r) && r != '-' }
		if w == "" || bounds[w] || strings.ContainsFunc(w, foreign) {
			break
		}
		if !annotateFillers[w] && !strings.HasSuffix(w, "ly") {
			phrase = append(phrase, w)
		}
	}
	last := len(phrase) - 1
	if last < 0 || IsStop(phrase[last]) {
		return ""
	}
	head := phrase[last]
	together := 0
	for _, s := range sentences {
		if last > 0 && s.Role == "user" {
			together += strings.Count(s.Text, phrase[last-1]+" "+head) // as written: no proper nouns
		}
	}
	head = plural.ReplaceAllString(head, "$1")
	if together > 1 {
		head = phrase[last-1] + " " + head
	}
	return head
}
