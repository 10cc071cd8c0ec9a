package designer

import (
	"regexp"
	"strings"
)

// correctionRunes is the length of the checked prefix. A correction is at the start of a message.
const correctionRunes = 400

// Patterns of corrections in messages, and of the correct answer that may follow.
var (
	wrongAnswer = regexp.MustCompile(`(?i)^(?:(?:no|nope|actually|sorry|hmm|wait|well)\b[\s,.!:;–—-]*)*(?:(?:that|` +
		`this|it|your answer|the answer)(?:['’]s| is| was)(?: still| just| all)? (?:not (?:right|true|correct|quite ` +
		`right|what i (?:said|meant))|wrong|incorrect|mistaken|false)|(?:that|this|it) (?:isn|wasn)['’]t ` +
		`(?:right|true|correct|what i (?:said|meant))|you(?:['’]re| are| were) (?:wrong|mistaken)|you got ` +
		`(?:that|it) wrong|wrong|incorrect)\b`)
	denied = regexp.MustCompile(`(?i)^(?:no|nope|not quite|actually|correction|actually no|no ` +
		`wait)\s*[,.!:;–—-]+\s*`)
	stated  = regexp.MustCompile(`(?i)^(?:it|that|this|he|she|they|we|i|my|his|her|their|our|the|not|in|on|at)\b`)
	equated = regexp.MustCompile(`(?i)^(?:it['’]s|it is|it was|it should be|i (?:said|meant)|not)\b`)
	content = regexp.MustCompile(`(?i)^(?:(?:it|that|this)(?:['’]s| is| was)|(?:it )?should (?:be|have been)|i ` +
		`(?:said|meant)|the (?:right|correct) (?:answer|one) (?:is|was))\s+(?:actually\s+|really\s+)?`)
	instead = regexp.MustCompile(`(?i)^not\s+[^,.;]{1,60}?(?:,\s*(?:but\s+)?|\s+but\s+|;\s*)(?:it['’]s\s+)?`)
	rather  = regexp.MustCompile(`(?i),?\s+(?:not|rather than|instead of)\s+.*$`)
	polite  = regexp.MustCompile(`(?i)^(?:(?:it|that|this)(?:['’]s| is| was)|i(?:['’]m| ` +
		`am))\s+(?:just\s+|all\s+|perfectly\s+|totally\s+|really\s+|so\s+)*(?:ok(?:ay)?|fine|good|great|all|it|` +
		`enough|right|correct|alright|not necessary|not needed|up to you|perfect|done|sorry)\b|^(?:i|we) ` +
		`(?:don['’]t|do not|won['’]t|can['’]t|think|guess|need|want|will|would|['’]ll)\b|^(?:not ` +
		`(?:now|today|yet|really|necessary|needed|at all|sure))\b`)

	wrongChinese = regexp.MustCompile(`^(?:不对|这不对|那不对|不正确|错了|错啦|不是这样|你?(?:记|说|搞|弄|答|理解)错了|回答错了|答案不对)[啊呀哦吧的了]*`)
	notChinese   = regexp.MustCompile(`^(?:不|不是|不是的|其实)[，,。！!、\s]+(?:应该是|其实是|而是|是)|^不是[^，,。；]{1,30}[，,；]?\s*(?:应该是|` +
		`其实是|而是|是)|^(?:其实|应该)(?:应该)?是`)
	isChinese    = regexp.MustCompile(`(?:应该是|其实是|而是|是)`)
	laterChinese = regexp.MustCompile(`[，,]?\s*(?:不是|而不是|并非).*$`)
	sentenceStop = regexp.MustCompile(`[.!?;](?:\s|$)|[。！？；\n]`)
)

// Correction reports whether a message corrects the previous answer, and returns the correct answer
// if the message contains it. It supports English and Chinese. It prefers to miss a correction over
// a false detection.
func Correction(said, answer string) (right string, found bool) {
	text := strings.TrimSpace(said)
	if runes := []rune(text); len(runes) > correctionRunes {
		text = string(runes[:correctionRunes])
	}
	if at := wrongChinese.FindStringIndex(text); at != nil {
		return rightChinese(text[at[1]:]), true
	}
	if at := notChinese.FindStringIndex(text); at != nil {
		return sentence(laterChinese.ReplaceAllString(sentence(text[at[1]:]), "")), true
	}
	if at := wrongAnswer.FindStringIndex(text); at != nil {
		return rightEnglish(text[at[1]:]), true
	}
	at := denied.FindStringIndex(text)
	if at == nil {
		return "", false
	}
	rest := text[at[1]:]
	asked := strings.HasSuffix(strings.TrimSpace(answer), "?") // "no" may then answer that question
	if polite.MatchString(rest) || !stated.MatchString(rest) || asked && !equated.MatchString(rest) {
		return "", false
	}
	return rightEnglish(rest), true
}

func rightEnglish(rest string) string {
	rest = strings.TrimLeft(rest, " ,.!:;–—-")
	if polite.MatchString(rest) || strings.HasSuffix(strings.TrimSpace(rest), "?") {
		return ""
	}
	rest = content.ReplaceAllString(rest, "")
	rest = instead.ReplaceAllString(rest, "")
	return sentence(rather.ReplaceAllString(sentence(rest), ""))
}

func rightChinese(rest string) string {
	rest = strings.TrimLeft(rest, "，,。！! ")
	if at := notChinese.FindStringIndex(rest); at != nil {
		rest = rest[at[1]:]
	} else if at := isChinese.FindStringIndex(rest); at != nil && at[0] <= len("正确的答案") {
		rest = rest[at[1]:]
	}
	return sentence(laterChinese.ReplaceAllString(sentence(rest), ""))
}

// sentence returns the first sentence without its end mark.
func sentence(text string) string {
	if at := sentenceStop.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return strings.Trim(strings.TrimSpace(text), " ,，.。!！\"“”")
}
