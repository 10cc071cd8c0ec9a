package memoryrules

import (
	"regexp"
	"slices"
	"strings"
)

// class is a class of sentences.
type class struct {
	name   string
	said   *regexp.Regexp // matches sentences of the class; nil if their marks decide
	named  *regexp.Regexp // matches texts of memory skills that name the class
	phrase [2]string      // how the designer names the class, en and zh
}

// han combines English words with Chinese words, which have no word boundaries.
func han(list, chinese string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + list + `)\b|` + chinese)
}

const months = `january|february|march|april|june|july|august|september|october|november|december`

// classes are in the order in which the designer prefers them if they are equal.
var classes = []class{
	{"time", han(months+`|(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|tomorrow|tonight|today|(?:last|next|`+
		`this|past) (?:week|weekend|month|year|night|summer|winter|spring|fall)|\w+ (?:days|weeks|months|years) `+
		`ago|since \w+|(?:19|20)\d\d`, `昨天|明天|今天|上周|下周|去年|明年|[0-9一二三四五六七八九十]+[月日号年]`),
		han(`dates?|times?|temporal|when (?:it|they|something) (?:happen|took)\w*|deadlines?|schedules?|durations?`,
			`日期|时间|期限`), [2]string{"dates, times and how long something took", "日期、时间和持续多久"}},
	{"number", regexp.MustCompile(`\d|(?i)\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|` +
		`thousand)\b|[两三四五六七八九十百千]个`),
		han(`numbers?|amounts?|quantit\w+|counts?|prices?|how many`, `数字|数量|金额`),
		[2]string{"numbers, amounts and how many of something there are", "数字、金额和数量"}},
	{"place", regexp.MustCompile(`\b(?:in|at|to|from|near|around) (?:the ` +
		`)?[A-Z][a-z]+|(?i)\b(?:park|beach|museum|store|restaurant|city|country|street|school|studio|lake|` +
		`mountains?)\b|[\p{Han}]{2}(?:市|省|路|公园|学校)`),
		han(`places?|locations?|cities|countries|where`, `地点|位置|城市`),
		[2]string{"places and where something is", "地点和位置"}},
	{"person", regexp.MustCompile(`[a-z,] [A-Z][a-z]{2,}|(?i)\b(?:friend|colleague|boss|teacher|neighbou?r)s?\b|朋友|` +
		`同事|老师`),
		han(`persons?|people|names?|entit\w+|who is`, `人名|人物|姓名`),
		[2]string{"people by name and who they are", "人名和他们是谁"}},
	{"preference", han(`likes?|loves?|enjoys?|prefers?|favou?rite|hates?|dislikes?|fond of|fan of|always|never`,
		`喜欢|偏好|讨厌|最爱|习惯`),
		han(`preferences?|tastes?|likes|dislikes|habits?|interests?|hobb\w+`, `偏好|爱好|习惯`),
		[2]string{"preferences, habits and interests", "偏好、习惯和兴趣"}},
	{"plan", han(`going to|will|plan(?:s|ning|ned)?|want(?:s|ed)? to|hop(?:e|es|ing) to|thinking `+
		`(?:of|about)|intend\w*|dream\w*|goals?`, `打算|计划|准备|希望|想要`),
		han(`plans?|goals?|intentions?|future|wish(?:es)?|upcoming`, `计划|目标|打算`),
		[2]string{"plans, goals and what is coming up", "计划、目标和即将发生的事"}},
	{"relation", han(`wife|husband|mom|mum|mother|dad|father|parents?|sister|brother|son|daughter|kids?|children|`+
		`grand\w+|partner|girlfriend|boyfriend|family|cousin|aunt|uncle|dog|cat|pets?`,
		`妻子|丈夫|妈妈|爸爸|父母|孩子|儿子|女儿|家人|兄弟|姐妹|狗|猫`),
		han(`relation(?:s|ships?)?|family|friends|relatives`, `关系|家人|亲友`),
		[2]string{"family, friends and how people are related", "家人、朋友和人与人的关系"}},
	{"work", han(`job|work(?:s|ed|ing)?|career|company|office|project|business|stud(?:y|ies|ied|ying)|school|`+
		`university|class(?:es)?|degree|exam`, `工作|公司|项目|学习|学校|大学|考试`),
		han(`work|jobs?|careers?|professions?|stud(?:y|ies)|education`, `工作|职业|学业`),
		[2]string{"work, study and projects", "工作、学业和项目"}},
	{"health", han(`sick|ill|doctor|hospital|pain|allerg\w+|injur\w+|surgery|medicine|health\w*|therap\w+|diet|sleep`,
		`生病|医生|医院|过敏|健康|睡眠`),
		han(`health|medical|illness\w*|diets?`, `健康|疾病`), [2]string{"health and feelings", "健康状况"}},
	{"event", han(`went|visited|bought|met|started|joined|finished|attended|signed|got|made|took|moved|won|saw|`+
		`painted|celebrated|happened|did|had|tried|found|gave|ran|played|organi[sz]ed|adopted`,
		`去了|买了|见了|参加|开始|完成|搬|赢|发生`),
		han(`events?|activit\w+|experiences?|happen(?:s|ed|ings?)?|achievements?`, `事件|活动|经历`),
		[2]string{"events and what happened", "事件和做过的事"}},
	{"change", han(`no longer|not any ?more|any `+
		`?more|changed|instead|actually|moved|switched|cancel\w+|postponed|correction|replaced|now`,
		`不再|改为|改成|取消|其实|换成|推迟|更正`),
		han(`changes?|correct(?:s|ed|ion|ions)?|contradict\w*|clarif\w+|extends?|cancel\w+|replaced|out of `+
			`date|outdated|invalid\w*`, `变化|更正|矛盾|取消|过时`), [2]string{"changes and corrections", "变化和更正"}},
	{"identifier", regexp.MustCompile(`\b(?:[A-Za-z]+_)+\d+\b|\b(?:[A-Z]+\d|\d+[A-Z])[A-Z0-9]{2,}\b`),
		han(`identifiers?|ids?|reference codes?`, `标识|单号|卡号`), [2]string{"identifiers and reference codes", "标识和单号"}},
	{"fact", nil, han(`facts?|information|context|details?|knowledge|statements?`, `事实|信息|内容`),
		[2]string{"lasting facts", "长期有效的事实"}},
	{"question", nil, han(`questions?`, `问题|疑问`), [2]string{"questions", "问题"}},
	{"greeting", nil, han(`greetings?|small ?talk|trivia|passing remarks?|chit-?chat|pleasantries`, `寒暄|闲聊|客套`),
		[2]string{"greetings", "寒暄"}},
}

// kinds is a set of classes, with one bit for each class.
type kinds uint32

// kind returns the set of one class.
func kind(name string) kinds {
	return 1 << slices.IndexFunc(classes, func(c class) bool { return c.name == name })
}

var fact, question, greeting, change = kind("fact"), kind("question"), kind("greeting"), kind("change")

// shows returns the classes of a sentence. terms is the number of its content words.
func shows(s Sentence, terms int) (out kinds) {
	for i, c := range classes {
		if c.said != nil && c.said.MatchString(s.Raw) {
			out |= 1 << i
		}
	}
	if !s.Question && !s.Greeting && terms >= 3 {
		out |= fact
	}
	if s.Question {
		out |= question
	}
	if s.Greeting || terms < 2 {
		out |= greeting
	}
	return out
}

var (
	clauseEnd = regexp.MustCompile(`[.;:!?。；！？\n]`)
	refuses   = han(`ignor\w+|never|do not|don't|skip|avoid|except|leave out|nothing`, `不要|忽略|禁止|不|勿`)
)

// toItems matches words for memories, as opposed to the conversation.
var toItems = han(`(?:items?|memor(?:y|ies)|entr(?:y|ies))`, `条目|记忆`)

// speaks returns the classes that texts want and the classes that they refuse. A refusal takes
// precedence regardless of its position.
func speaks(texts []string) (wanted, refused kinds) {
	for _, text := range texts {
		for _, clause := range clauseEnd.Split(text, -1) {
			refusing := refuses.MatchString(clause)
			for i, c := range classes {
				switch {
				case !c.named.MatchString(clause) || c.name == "change" && toItems.MatchString(clause):
				case refusing:
					refused |= 1 << i
				default:
					wanted |= 1 << i
				}
			}
		}
	}
	return wanted &^ refused, refused
}

func joined(texts ...string) string { return strings.Join(texts, "\n") }
