package guard

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// minEntropy, in bits per character, is the minimum for random keys. Sixteen different
// characters have 4 bits, English words 2 to 3.4.
const minEntropy = 3.5

// entropy returns Shannon's entropy in bits per character.
func entropy(text string) float64 {
	counts, total := map[rune]int{}, 0
	for _, r := range text {
		counts[r]++
		total++
	}
	sum := 0.0
	for _, n := range counts {
		p := float64(n) / float64(total)
		sum -= p * math.Log2(p)
	}
	return sum
}

var (
	// standIns matches placeholders for secrets in documents.
	standIns = regexp.MustCompile(`(?i)^(?:[$%].*|.*\{\{.*|.*\}\}.*|.*\$\{.*|<.*|\[.*|(?:x|\*|\.|-|_|#|0|•|…)+|` +
		`.*x{6,}.*|.*\*{3,}.*|.*\.{3,}.*|.*…|(?:your|my|the|some|an?|insert|enter|put|replace|change|fake|dummy|` +
		`example|sample|placeholder|redacted|null|none|undefined|true|false|todo)(?:[-_.]?(?:me|it))?(?:[-_].*)?|` +
		`changeme\d*|.*(?:placeholder|redacted|your[-_]).*)$`)
	// words matches identifiers and paths, which are not random characters.
	words = regexp.MustCompile(`^(?:[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Za-z]{1,20}(?:[-_.:/][A-Za-z]{0,20}` +
		`)*[-_.]?v?\d{0,4}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z][a-z]+(?:[A-Z][a-z]+)+\d{0,2}|[\d.,:/-]+|\.{0,2}/` +
		`.*|~/.*|https?://.*|arn:.*|[\w-]+/[\w./-]+\.\w{1,5})$`)
	// ownerless matches names that end like those of secrets but are not secrets.
	ownerless = regexp.MustCompile(`(?i)(?:primary|foreign|public|pub|cache|sort|partition|hash|row|group|dict|map|` +
		`json|index|object|s3|idempotency|translation|i18n|unique|composite|surrogate|natural|shortcut|hot|arrow|` +
		`lookup|search|config|registry|routing|message|dedup\w*|storage|metadata|label|tag|column|property|` +
		`attribute|field|issue|project|ticket|next|previous|prev|start|sync|page|continuation|cursor|max|total|min|` +
		`num|prompt|completion|input|output|eos|bos|pad|stop|special)[_.-]?(?:key|token)(?:_?id)?s?$|^(?:on|kb|mon|` +
		`tur|don|hoc|joc|whis|bro|lac)key|author$|authors?$|signatures?$`)
)

// standIn reports whether a value is a placeholder, which needs no redaction.
func standIn(value string) bool { return value == "" || standIns.MatchString(value) }

// random reports whether the value of a named setting looks like a key: mixed characters with at
// least minEntropy. Words joined by marks are names, not keys.
func random(name, value string) bool {
	value = strings.TrimRight(value, ".:!?")
	return !standIn(value) && !ownerless.MatchString(name) && !words.MatchString(value) && mixed(value) &&
		entropy(value) >= minEntropy
}

// likePassword is random for passwords chosen by people: shorter, with fewer different characters,
// but not a plain word.
func likePassword(value string) bool {
	value = strings.TrimRight(value, ".:!?")
	if len(value) < 6 || standIn(value) || usual[strings.ToLower(value)] {
		return false
	}
	return mixed(value) && !expression.MatchString(value) || allDigits(value) && len(value) >= 6
}

// expression matches expressions of programs: password = form.password1
var expression = regexp.MustCompile(`^(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|` +
	`[a-z]+(?:_[a-z]+)+|[A-Z]?[a-z]+|[a-z]+(?:[A-Z][a-z]+)+|[a-z]+(?:-[a-z]+)+|` +
	`[a-z_]+=\w{1,3}|https?://.*|\.{0,2}/.*)$`)

// usual are default passwords of examples.
var usual = map[string]bool{"password": true, "passwd": true, "pass": true, "pwd": true, "secret": true,
	"postgres": true, "root": true,
	"admin": true, "user": true, "test": true, "guest": true, "example": true, "changeme": true, "mysql": true,
	"redis": true, "minio": true,
	"minioadmin": true, "rabbitmq": true, "username": true, "pw": true, "password1": true, "string": true,
	"hunter": true, "null": true}

// mixed reports whether a value has at least two kinds of characters: lower case, upper case after
// the first character, digits, other marks.
func mixed(value string) bool {
	var lower, upper, digit, mark int
	for i, r := range value {
		switch {
		case unicode.IsDigit(r):
			digit = 1
		case unicode.IsUpper(r) && i > 0:
			upper = 1
		case unicode.IsLetter(r):
			lower = 1
		case !strings.ContainsRune("-_.:/", r):
			mark = 1
		}
	}
	return lower+upper+digit+mark >= 2
}

func allDigits(value string) bool {
	return strings.Trim(value, "0123456789") == ""
}
