package guard

import (
	"regexp"
	"slices"
	"strings"
)

// Scope is the strictness of a scan. Each scope includes the rules of the previous ones.
type Scope int

const (
	All     Scope = iota // any text, such as a transcript or a tool's output
	Context              // text that enters prompts, such as a document of a user
	Strict               // stored text: skills, memories, soul, notes, scripts
)

var scopes = map[string]Scope{"all": All, "context": Context, "strict": Strict}

// perRule is the maximum number of findings of one rule in a scan.
const perRule = 20

// Scan finds text that would attack a later reader. It reads the
// whole text in linear time. Findings are ordered by line, with one for each rule and line.
func Scan(text string, scope Scope) []Finding {
	findings := append(scanInvisible(text), scanHidden(text)...)
	f := fold(text)
	findings = append(findings, scanRules(f, textRules(), scope)...)
	if scope == Strict { // texts can contain programs
		findings = append(findings, scanRules(f, embeddedRules(), scope)...)
	}
	orders := append(scanOrders(f, scope, false), scanDisguised(text, f, scope)...)
	findings = append(findings, newFindings(findings, orders)...)
	return sortFindings(findings)
}

// newFindings returns the findings of lines without an equally severe finding of the same family.
func newFindings(known, found []Finding) []Finding {
	return slices.DeleteFunc(found, func(n Finding) bool {
		return slices.ContainsFunc(known, func(k Finding) bool {
			return k.Line == n.Line && k.Family == n.Family && (k.Severity == n.Severity || k.Severity == Dangerous)
		})
	})
}

// scanRules applies the rules of a scope to folded text.
func scanRules(f folded, rules []rule, scope Scope) []Finding {
	var findings []Finding
	for _, r := range rules {
		if r.scope > scope {
			continue
		}
		reported := 0
		for _, m := range r.pattern.all(f.text, f.text) {
			if reported == perRule {
				break
			}
			severity := r.judge(f.text, m[0], m[1])
			if severity == Safe {
				continue
			}
			reported++
			findings = append(findings, Finding{Family: r.family, Severity: severity, Line: f.line(m[0]), ID: r.id})
		}
	}
	return findings
}

// contextBytes before a match distinguish a warning or a quotation from an order.
const contextBytes = 120

var (
	// forbidden matches a prohibition directly before a match: "never run `rm -rf /`".
	forbidden = regexp.MustCompile("(?:\\b(?:never|do not|don't|must not|mustn't|should " +
		"not|shouldn't|cannot|can't|avoid|refuse to|instead of|rather than)(?: (?:ever|to|blindly|simply|just))*" +
		"(?: (?:run|running|use|using|execute|executing|type|typing|paste|pasting|pipe|piping|call|calling|commit|" +
		"write|try|allow|permit|add))?(?: (?:a|an|the|any|commands?|things?|like|such as))*(?: [`\"'][^`\"'\n" +
		"]{1,40}[`\"'],?(?: or| nor)?)*(?:(?: \\w+,){0,4}(?: \\w+)? (?:or|nor))?" +
		"|(?:不要|切勿|禁止|不得|不能|不可|严禁|请勿|绝不|避免|别|拒绝)(?:直接|随意|擅自|盲目)?(?:运行|执行|使用|调用|输入)?)[ \"'`(*]*$")
	// quoted matches an opening quotation mark at the end of the text before a match.
	quoted = regexp.MustCompile("[\"'`“„‘「『«(] ?$")
	// named matches text that marks a quotation as an example.
	named = regexp.MustCompile(`\b(?:such as|like|e\.g\.|for ` +
		`example|phrases?|strings?|attempts?|inject\w*|attacks?|detect\w*|flag\w*|treat|reject\w*|block\w*|test\w*|` +
		`examples?)\b|例如|比如|诸如|类似|注入|攻击|检测|识别|拒绝|样例|示例`)
	// reported matches text that describes an attack. It is folded: Cyrillic letters that look like
	// Latin ones are Latin.
	reported = regexp.MustCompile(strings.Trim(fold(`(?:attackers?|adversar(?:y|ies)|prompt.injections?|`+
		`jailbreaks?|malicious|phishing|scammers?|atacantes?|inyeccion|malicios\w+|attaquants?|malveillant\w*|`+
		`angreifer|bosartig\w*|injecao|attaccant\w+|iniezion\w|злоумышленник|Злоумышленник|мошенник|Мошенник|`+
		`внедрени|Внедрени|инъекци|Инъекци|зловмисник|攻击者|提示词?注入|恶意|攻撃者|インジェクション|공격자|인젝션|`+
		`المهاجم|حقن|saldirgan|penyerang|atakujac\w+|aanvaller)`).text, "\n") + "[^\n]{0,100}$")
)

// judge returns the severity of a match, and Safe if it is no finding.
func (r rule) judge(text string, start, end int) Severity {
	if r.unless != nil && r.unless.MatchString(text[start:end]) {
		return Safe
	}
	before := strings.TrimRight(text[max(0, start-contextBytes):start], "\n")
	if forbidden.MatchString(before) || r.before != nil && r.before.MatchString(before) {
		return Safe
	}
	if r.mention && quoted.MatchString(before) {
		switch {
		case reported.MatchString(before):
			return Safe
		case named.MatchString(before):
			return Caution
		}
	}
	return r.severity
}
