package guard

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of numbers, in digits before the decimal point. Shorter numbers are counts.
const (
	minAmount = 3
	minNumber = 4
)

var (
	moneyKey = regexp.MustCompile(`(?:^|_)(?:price|amount|cost|total|subtotal|fee|fare|balance|paid|payment|refund|` +
		`charge|salary|income|wage|tax|discount|deposit|credit|debit|due|budget|premium|revenue|rent|compensation)s?` +
		`(?:_|$)|金额|价格|单价|总价|余额|费用|退款|押金|工资|收入|应付|实付`)
	numericText = regexp.MustCompile(`^[$€£¥￥]?\s?\d[\d,]*(?:\.\d+)?$`)
	numeral     = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)
	sumBefore   = regexp.MustCompile(`(?:[$€£¥￥]|\b(?:USD|EUR|GBP|CNY|RMB))\s?$`)
	sumAfter    = regexp.MustCompile(
		`^\s?(?:(?i:dollars?|usd|euros?|eur|pounds?|gbp|yuan|cny|rmb)\b|元|美元|欧元|英镑|人民币|块钱)`,
	)
)

// sum is a number in a text.
type sum struct {
	window
	value string // without separators and trailing zeros
	money bool   // next to a currency
}

// sums finds the numbers in a text that are not part of a longer word, version or date.
func sums(text string) (found []sum) {
	for _, at := range numeral.FindAllStringIndex(text, -1) {
		w := window{at[0], at[1]}
		for strings.HasSuffix(text[w.start:w.end], ",") {
			w.end--
		}
		money := sumBefore.MatchString(text[max(0, w.start-5):w.start]) || sumAfter.MatchString(text[w.end:])
		if bounded(text, w) {
			found = append(found, sum{w, plainNumber(text[w.start:w.end]), money})
		}
	}
	return found
}

// plainNumber removes signs, separators and trailing zeros: "$4,875.00" is 4875.
func plainNumber(text string) string {
	text = strings.TrimLeft(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || r == '.' {
			return r
		}
		return -1
	}, text), "0")
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// number adds a number of a document. Numbers under technical keys, such as port, and round ones are general.
func (c *collector) number(key, value string) {
	if !numericText.MatchString(value) {
		return
	}
	plain := plainNumber(value)
	whole, fraction, _ := strings.Cut(plain, ".")
	switch {
	case plain == "":
	case moneyKey.MatchString(key):
		c.amounts[plain] = "amount"
	case generalKey.MatchString(key) || technicalKey.MatchString(key) || strings.Trim(plain, "0") == "1" ||
		len(whole) == len("2024") && (whole[:2] == "19" || whole[:2] == "20"):
	case (len(whole) >= minNumber || fraction != "") && c.amounts[plain] == "":
		c.amounts[plain] = "number"
	}
}

// technicalKey matches keys of numbers that describe a program and not a case.
var technicalKey = regexp.MustCompile(`(?:^|_)(?:port|timeout|limit|max|min|page|offset|line|column|width|height|` +
	`retries|retry|attempts?|ttl|seconds|ms|millis|bytes|length|index|count|pid|exit|score|confidence|temperature|` +
	`threshold|ratio|elapsed|duration|tokens?)s?(?:_|$)`)

// spokenSums adds the amounts of money in prose.
func (c *collector) spokenSums(text string) {
	for _, s := range sums(text) {
		if s.money && s.value != "" {
			c.amounts[s.value] = "amount"
		}
	}
}

// amountLeaks finds numbers of the case. A short number counts only next to a currency.
func (v ValueSet) amountLeaks(text string) (found []leak) {
	if len(v.amounts) == 0 {
		return nil
	}
	for _, s := range sums(text) {
		kind := v.amounts[s.value]
		whole, fraction, _ := strings.Cut(s.value, ".")
		if kind != "" && (s.money || utf8.RuneCountInString(whole) >= minAmount || fraction != "") {
			found = append(found, leak{s.window, term{kind: kind, label: kind}})
		}
	}
	return found
}
