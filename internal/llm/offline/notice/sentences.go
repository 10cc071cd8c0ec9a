package notice

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"cairn/internal/lang"
	"cairn/internal/prompt"
	"cairn/internal/transcript/fence"
)

// Sentence is one sentence with its marks.
type Sentence struct {
	Text       string // masked
	Raw        string
	Heading    string // the Markdown heading it stands under
	Role       string
	Index      int  // of its message
	Ordered    bool // carries a list's number, or a word such as "then"
	Question   bool
	Imperative bool
	Rule       bool // says what must or must not be
	Wish       bool // says what its speaker always wants
	Lesson     bool // says what went wrong, needs care or helped
	Greeting   bool
}

var (
	actions    = Words("actions")
	ends       = regexp.MustCompile(`[。！？；]|[.!?] `)
	andThen    = regexp.MustCompile(`(?i), (?:and |then |and then )((?:` + strings.Join(list("actions"), "|") + `)\b)`)
	bullet     = regexp.MustCompile(`(?m)^\s*(?:[-*•]\s+|(\d{1,2}[.)、]|第[一二三四五六七八九十]步[，,：:]?|[Ss]tep \d+[:.]?)\s*)`)
	sequence   = regexp.MustCompile(`(?i)^(?:and )?(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|finally|lastly|after that|afterwards|before that)(?:[ ,:]+|$)|^(?:首先|先|其次|然后|接着|接下来|之后|最后|再)[ ,，:：]*`)
	manner     = regexp.MustCompile(`(?i)^(?:please|always|never|do not|don't) `)
	orderHan   = regexp.MustCompile(`^(?:请|确保|不要)`)
	ruleWords  = regexp.MustCompile(`(?i)\b(?:must|never|always|only|can't|can ?not|should|shall|do not|don't|at most|at least|required|unless|not allowed)\b|必须|不得|只能|不能|禁止|应当|应该|务必|最多|至少|一律|不要`)
	wishWords  = regexp.MustCompile(`(?i)\b(?:always|never|prefer(?:s|red)?|from now on|in (?:the )?future|every time|each time|by default)\b|总是|永远|以后|今后|每次|偏好|更喜欢|习惯|务必|一律|不要`)
	lessonWord = regexp.MustCompile(`(?i)\b(?:turned out|turns out|the (?:problem|cause|reason|fix|trick) (?:is|was)|lesson|mistake|gotcha|careful|make sure|remember to|be aware|otherwise|instead of|forgot|failed because)\b|原来|教训|注意|记得|小心|否则|原因是|忘了|解决办法|解决方法`)
	helped     = regexp.MustCompile(`(?i)^(?:it|that|this)\b.*\b(?:worked|works now|helped|fixed|solved)\b|^这样就?(?:好了|可以了|解决了)`)
	hello      = regexp.MustCompile(`(?i)^(?:hi|hey|hello|thanks?|thank you|good (?:morning|afternoon|evening)|bye|goodbye|you're welcome|welcome|cheers|你好|您好|谢谢|多谢|再见|早上好|不客气|辛苦了)`)
)

// Sentences splits a message at the ends of sentences and lines, leaves
// code out, and marks each sentence.
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
			s := Sentence{Text: k.Hide(raw, m.Role == "system"), Raw: raw, Heading: heading, Role: m.Role, Index: m.Index}
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

// split cuts a line into sentences; a full stop needs white space after it. In
// an ordered sentence each action is one of its own.
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

// mark sets the marks that the text itself gives away.
func (s *Sentence) mark() {
	plain := Plain(s.Text)
	first := strings.ToLower(word.FindString(manner.ReplaceAllString(plain, "")))
	s.Question = strings.ContainsAny(s.Text, "?？") || strings.HasSuffix(s.Text, "吗")
	s.Imperative = !s.Question && (actions[first] || orderHan.MatchString(plain) || s.Ordered && lang.Detect(plain) == lang.Chinese)
	s.Rule = !s.Question && ruleWords.MatchString(s.Text)
	s.Wish = !s.Question && wishWords.MatchString(s.Text)
	s.Lesson = !s.Question && lessonWord.MatchString(s.Text)
	s.Greeting = hello.MatchString(s.Text) && len(Terms(s.Text)) <= 2
}

// Plain is a sentence without the word that puts it in order: "then".
func Plain(text string) string { return sequence.ReplaceAllString(text, "") }

// Lines are the lines of a list without their numbers and bullets.
func Lines(list string) []string {
	return Distinct(strings.Split(bullet.ReplaceAllString(list, ""), "\n"), len(list))
}
