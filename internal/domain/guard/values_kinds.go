package guard

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Minimum lengths of values, in characters. Shorter values are words or counts.
const (
	minID      = 5
	minDigits  = 4
	minHandle  = 4
	minAddress = 6
)

var (
	// The keys are in snake case.
	nameKey = regexp.MustCompile(`(?:^|_)(?:first|last|full|given|family|middle|maiden|display|real|legal|` +
		`customer|user|contact|passenger|guest|holder|owner|recipient|sender|patient|employee|client|member|` +
		`travell?er|billing|shipping|person|attendee|student|author)_names?$|^(?:surname|forename|nickname|fname|` +
		`lname|cardholder)$|姓名|名字|联系人|收件人|乘客|昵称`)
	idKey = regexp.MustCompile(`(?:^|_)(?:id|ids|uuid|guid|number|reference|account|ssn|passport|pin|zip|` +
		`zip_?code|post_?code|postal_code|iban|order|ticket|reservation|booking|confirmation|pnr|tracking|invoice|` +
		`licen[cs]e|plate|vin|last_four|last_?4|cvv)s?$|编号|单号|订单号|身份证|卡号|账号|证件|邮编`)
	handleKey = regexp.MustCompile(`^(?:user|customer|member|account|owner|login|client|guest|patient|employee|` +
		`author|sender|recipient)(?:_id|_name|_handle|_login)?$|^(?:username|userid|handle|screen_name)$|用户名|用户id|账号`)
	bookingKey = regexp.MustCompile(`(?:reservation|booking|confirmation|order|ticket|pnr|reference|` +
		`tracking)s?(?:_id|_code|_number|_no|_reference)?s?$`)
	phoneKey  = regexp.MustCompile(`(?:^|_)(?:phone|mobile|tel|telephone|fax|cell)(?:_number|_no)?s?$|电话|手机`)
	streetKey = regexp.MustCompile(`(?:^|_)(?:address_?(?:line)?_?\d?|street(?:_address)?|addr)$|地址`)
	birthKey  = regexp.MustCompile(`^(?:dob|birth_?date|birthday|date_of_birth|born)$|生日|出生`)
	personKey = regexp.MustCompile(`^(?:user|customer|passenger|contact|guest|client|member|owner|author|` +
		`travell?er|patient|employee|recipient|sender|person|people|profile|attendee|student|assignee|reporter|` +
		`saved_passenger)s?$`)
	// generalKey matches keys of values that are equal in every case, whatever they look like.
	generalKey = regexp.MustCompile(`(?:^|_)(?:code|error|version|model|type|status|state|format|lang|language|` +
		`locale|encoding|algorithm|unit|currency|kind|level|category|class|os|arch|platform|image|package|command|` +
		`cmd|path|file|filename|url|uri|endpoint|host|branch|tag|sha|commit|hash|mime|date|time|timestamp|at|on|` +
		`expression|query|sql|text|content|message|thought|summary|description|title|name|topic|pattern|regex|` +
		`selector|unit|port|color|colour|size|font)s?$`)

	// idShape matches letters and digits, possibly joined by marks.
	idShape  = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}_#-]*[\p{L}\p{N}]$`)
	dateTime = regexp.MustCompile(`^\d{1,4}[-/.:]\d{1,2}(?:[-/.:]\d{1,4})?(?:[T ]?\d{1,2}:?\d{2}.*)?$`)
	// technical matches technical names that contain digits.
	technical = regexp.MustCompile(`^(?i:v?\d+(?:[.x]\d+)*[a-z]{0,2}|(?:sha|md|utf|base|int|uint|float|rfc|iso|http|` +
		`ipv|ip|oauth|python|py|amd|arm|aarch|win|mp|ec|log|node|java|php|es|css|html|gpt|claude|llama|qwen|gemini|` +
		`tls|ssl|aes|rsa|ed|cp|latin|vec|col|row|step|line|page|item|test|level|tier|zone|phase|part|option|type|` +
		`class|address|field|param|arg|file|sheet|table|chapter|section|covid|windows|ubuntu|debian|postgres|mysql|` +
		`cve|ecma|web|top|day|week|year|q|h|[a-z])[_-]?\d{1,5}|x86[_-]64|utf8mb4|k8s|i18n|l10n|a11y|win32|sha\d+sum|` +
		`base64url)$`)

	mailbox      = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}._%+-]*@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+`)
	underscored  = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)*_\d{4,}\b`)
	personalName = regexp.MustCompile(`^\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}.'’-]*){1,3}$|^\p{Han}{2,4}$`)
	plainLabel   = regexp.MustCompile(`^[a-z][a-z_]{0,30}$`)
)

// scalar handles one value. literal means that it was a JSON string.
func (c *collector) scalar(key, value string, person, literal bool) {
	c.number(key, value)
	c.place(key, value)
	c.attribute(key, value)
	switch {
	case value == "":
	case nameKey.MatchString(key), key == "name" && person,
		person && personKey.MatchString(key) && personalName.MatchString(value):
		c.name(value)
		return
	case birthKey.MatchString(key) && c.date(value, true):
		return
	case phoneKey.MatchString(key) && countDigits(value) >= 7:
		c.add(term{text: value, kind: "phone", label: "phone"})
		return
	case streetKey.MatchString(key) && utf8.RuneCountInString(value) >= minAddress &&
		(countDigits(value) > 0 || isHan(value)):
		c.add(term{text: value, kind: "address", label: "address"})
		return
	// The name of a person or a product is taken as a whole.
	case key == "name" && literal && personalName.MatchString(value) && !isHan(value):
		c.add(term{text: value, kind: "id", label: "name", exact: true})
		return
	case isID(key, value, literal):
		c.add(term{text: value, kind: "id", label: label(key)})
		return
	}
	if literal {
		c.prose(value)
		if len(value) < 40 {
			for _, word := range strings.Fields(value) {
				c.common[word] = true
			}
		}
	}
}

// date adds the dates of a text and reports whether it has one.
func (c *collector) date(text string, birth bool) bool {
	found := dates(text)
	for _, d := range found {
		for _, reading := range d.readings {
			c.dates[reading] = c.dates[reading] || birth
		}
	}
	return len(found) > 0
}

// name adds the words of a person's name, or a whole Chinese name.
func (c *collector) name(value string) {
	if isHan(value) {
		if n := utf8.RuneCountInString(value); n >= 2 && n <= 12 {
			c.add(term{text: value, kind: "name", label: "name"})
		}
		return
	}
	for _, word := range strings.Fields(value) {
		word = strings.Trim(word, ".,;:()\"'")
		if first, size := utf8.DecodeRuneInString(word); unicode.IsLetter(first) && size < len(word) &&
			!usual[strings.ToLower(word)] {
			c.add(term{text: word, kind: "name", label: "name"})
		}
	}
}

// prose adds unambiguous values from any text.
func (c *collector) prose(text string) {
	c.date(text, false)
	c.spokenSums(text)
	c.spokenRoutes(text)
	if strings.Contains(text, "@") {
		for _, address := range mailbox.FindAllString(text, -1) {
			c.add(term{text: strings.TrimRight(address, ".-"), kind: "email", label: "email"})
		}
	}
	for _, id := range underscored.FindAllString(text, -1) {
		c.add(term{text: id, kind: "id", label: "id"})
	}
	for _, w := range cards(text) {
		c.add(term{text: text[w.start:w.end], kind: "card", label: "card"})
	}
	for _, w := range phones(text) {
		c.add(term{text: text[w.start:w.end], kind: "phone", label: "phone"})
	}
}

// isID reports whether a value identifies one case.
func isID(key, value string, literal bool) bool {
	length, digits := utf8.RuneCountInString(value), countDigits(value)
	named := idKey.MatchString(key) || handleKey.MatchString(key)
	switch {
	case length > 128 || technical.MatchString(value) && !allDigits(value) || dateTime.MatchString(value):
		return false
	case allDigits(value):
		return named && digits >= minDigits || literal && digits >= 6 && !generalKey.MatchString(key)
	case !idShape.MatchString(value) || !literal:
		return false
	case digits == 0:
		return handleKey.MatchString(key) && length >= minHandle && !general(value) ||
			bookingKey.MatchString(key) && length >= minID && value == strings.ToUpper(value) &&
				!strings.Contains(value, "_")
	case length < minID:
		return false
	case named:
		return true
	}
	upper := value == strings.ToUpper(value) && !strings.ContainsAny(value, "_-")
	return !generalKey.MatchString(key) && (digits > 1 || upper)
}

// general reports whether a word can take the position of a handle but is not one.
func general(value string) bool {
	lower := strings.ToLower(value)
	return usual[lower] || genericAccounts[lower] || ordinary()[lower] || strings.Contains(lower, "_") ||
		lower == "system" || lower == "self" ||
		lower == "current" ||
		lower == "assistant"
}

// keyed reports whether a JSON key is itself an ID, such as gift_card_7480005.
func keyed(key string) bool { return underscored.MatchString(key) }

// describesPerson distinguishes the record of a person from other records with a name.
func describesPerson(key string, record map[string]any) bool {
	if personKey.MatchString(key) {
		return true
	}
	for raw := range record {
		switch name := snake(raw); {
		case name == "email" || name == "user_id" || name == "gender" || name == "passport" || name == "age" ||
			name == "nationality",
			birthKey.MatchString(name), phoneKey.MatchString(name), nameKey.MatchString(name):
			return true
		}
	}
	return false
}

// snake returns a JSON key in lower case with its words joined by underscores.
func snake(key string) string {
	var b strings.Builder
	previous := '_'
	for _, r := range key {
		switch {
		case r == '-' || r == ' ' || r == '.':
			r = '_'
		case unicode.IsUpper(r):
			if previous != '_' && !unicode.IsUpper(previous) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
		previous = r
	}
	return b.String()
}

// label returns the label of a masked ID: its key, if that is a plain word.
func label(key string) string {
	if plainLabel.MatchString(key) && !strings.HasSuffix(key, "s") && key != "name" {
		return key
	}
	return "id"
}

func countDigits(text string) int {
	n := 0
	for i := 0; i < len(text); i++ {
		if digit(text[i]) {
			n++
		}
	}
	return n
}

// isHan reports whether a text starts with a Han character. Such text has no word boundaries.
func isHan(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.Is(unicode.Han, r)
}

// ordinary are words that are also names of people (patterns/words.yaml).
var ordinary = sync.OnceValue(func() map[string]bool {
	var file struct {
		Words string `yaml:"words"`
	}
	readPatterns("patterns/words.yaml", &file)
	set := map[string]bool{}
	for _, word := range strings.Fields(file.Words) {
		set[word] = true
	}
	return set
})
