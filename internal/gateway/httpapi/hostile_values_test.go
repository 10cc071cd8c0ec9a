package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"strings"
)

// longText is longer than any text field allows, and shorter than the largest body.
const longText = 100_000

// hostileJSON are values for any field of a body. They are raw because some are not JSON.
var hostileJSON = []string{
	`null`,
	`true`,
	`0`,
	`-1`,
	`1.5`,
	`-0.0`,
	`1e308`,
	`1e999`,
	`-1e999`,
	`NaN`,
	`9223372036854775807`,
	`9223372036854775808`,
	`-9223372036854775809`,
	`2147483648`,
	`1` + strings.Repeat("0", 400),
	`""`,
	`" "`,
	`"1"`,
	`"\u0000"`,
	`"a\u0000b"`,
	`"\ud800"`,
	"\"a\xff\xfe\xc0\x80b\"",
	`"\u0001\u001b[2J\u007f\u0085"`,
	"\"\x01\"",
	"\"\\u202e\\u200b\u0130\u00df 👩‍👩‍👧 \ufeff\ufffd\"",
	`"../../../x"`,
	`"' OR 1=1; --"`,
	`"%s%n%00{{.}}${x}\\"`,
	`"` + strings.Repeat("x", longText) + `"`,
	`"` + strings.Repeat("👩‍👩‍👧", 2000) + `"`,
	`[]`,
	`[null]`,
	`[[[]]]`,
	`[1,"a",{}]`,
	`{}`,
	`{"":{}}`,
	`{"\u0000":"\u0000"}`,
	`{"a":{"b":null}}`,
	strings.Repeat(
		"[",
		500,
	) + strings.Repeat(
		"]",
		500,
	),
	strings.Repeat(`{"a":`, 20000) + `1` + strings.Repeat("}", 20000),
	`[` + strings.Repeat("null,", 5000) + `null]`,
	`[` + strings.Repeat(`{},`, 5000) + `"x"]`,
}

// hostileDates are values for fields with a date or a time.
var hostileDates = []string{
	`"0000-00-00"`,
	`"2026-02-30"`,
	`"9999-12-31"`,
	`"0001-01-01"`,
	`"-2026-01-01"`,
	`"99999-01-01"`,
	`"0000-01-01T00:00:00Z"`,
	`"9999-12-31T23:59:60Z"`,
	`"9999-12-31T23:59:59-23:59"`,
	`"2026-01-01T00:00:00+99:99"`,
	`"2026-01-01T00:00:00.123456789123Z"`,
	`"294277-01-01T00:00:00Z"`,
	`"infinity"`,
	`"now"`,
}

// hostileBodies replace a whole body.
var hostileBodies = []string{
	"",
	" ",
	"null",
	"[]",
	`""`,
	"0",
	"{",
	`{"a`,
	`{"a":1,}`,
	"{}{}",
	"{}\n[]",
	"\xef\xbb\xbf{}",
	"\x00",
	"\xff\xfe{\x00}\x00",
	"--x\r\n\r\n\r\n--x--",
	"PK\x03\x04",
	"\x1f\x8b\x08\x00",
	"{}" + strings.Repeat(" ", longText),
	strings.Repeat("[", 200_000),
	strings.Repeat(`{"x":`, 100_000),
	`{"":"","":""}`,
	`{"unknown_field":1}`,
	strings.Repeat("x\n", 10_000),
	strings.Repeat("{}\n", 10_000),
	`{"type":"x"}` + "\n" + `{"type":"y"}`,
}

// hostileText are values for parameters. They are escaped where their place requires it.
var hostileText = []string{
	"",
	" ",
	"0",
	"-1",
	"1.5",
	"1e999",
	"NaN",
	"9223372036854775807",
	"9223372036854775808",
	"-9223372036854775809",
	"2147483648",
	"0x10",
	"true",
	"null",
	"\x00",
	"a\x00b",
	"\xff\xfe",
	"\xc0\x80",
	"\x1b[2J",
	"a\r\nb: c",
	"..",
	"../../x",
	"a/b",
	`a\b`,
	"%",
	"%s%n",
	"' OR 1=1; --",
	`"`,
	"{}",
	"[]",
	`{"a":"\u0000"}`,
	`{"":{"":null}}`,
	"\u202e👩‍👩‍👧\u0130",
	"\ufeff",
	",",
	",,,",
	"a,b,c",
	":",
	"x=1",
	"=",
	"2026-02-30",
	"0000-00-00",
	"9999-12-31T23:59:60Z",
	"294277-01-01T00:00:00Z",
	"bm90IGEgY3Vyc29y",
	"eyJhIjoxfQ",
	strings.Repeat("x", 3000),
	strings.Repeat("é", 1500),
	strings.Repeat("a,", 1500),
	strings.Repeat("[", 3000),
}

// hostileHeaders are values for headers as they arrive.
var hostileHeaders = []string{
	"",
	" ",
	"\x01",
	"a\x00b",
	"\xff\xfe",
	"é",
	"👩‍👩‍👧",
	strings.Repeat("x", 3000),
	strings.Repeat("x", 100_000),
	"-1",
	"9223372036854775808",
	"../..",
	`"`,
	"*",
	`W/"x"`,
	"' OR 1=1; --",
	"%00",
	"{}",
}

// hostileTypes are values for the header Content-Type.
var hostileTypes = []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
	"multipart/form-data; boundary=", "multipart/form-data; boundary=x", ";;;", "a", "application/json; charset=utf-16",
	"application/cbor", "application/json;" + strings.Repeat("a=b;", 500), "image/png", "application/zip", "*/*"}

// isWait reports whether a field chooses how long a request waits. Values that are valid would delay the test,
// and so would null, which is the default.
func isWait(name string) bool { return name == "wait" || name == "deadline_ms" }

// valuesFor returns hostile values of a field.
func valuesFor(f field) []string {
	out := hostileJSON
	if isWait(f.name()) {
		out = []string{`-1`, `1e999`, `9223372036854775808`, `"1"`, `1.5`, `[]`, `{}`, `true`, `"\u0000"`}
	}
	out = append([]string(nil), out...)
	s := f.schema
	if s.Maximum != nil && !isWait(f.name()) {
		out = append(out, shifted(s.Maximum, 1), shifted(s.Maximum, 0))
	}
	if s.Minimum != nil {
		out = append(out, shifted(s.Minimum, -1))
	}
	if s.MaxLength > 0 {
		out = append(out, quoted(strings.Repeat("𝔘", s.MaxLength)), quoted(strings.Repeat("a", s.MaxLength+1)),
			quoted(strings.Repeat("/", s.MaxLength)))
	}
	for _, v := range s.Enum {
		out = append(out, quoted(strings.ToUpper(fmt.Sprint(v))), quoted(fmt.Sprint(v)+"\x00"))
	}
	if strings.Contains(s.Format, "date") ||
		hasAny(f.name(), "date", "time", "from", "until", "to", "after", "before") {
		out = append(out, hostileDates...)
	}
	return out
}

func hasAny(name string, parts ...string) bool {
	for _, p := range parts {
		if name == p || strings.HasSuffix(name, "_"+p) || strings.HasPrefix(name, p+"_") {
			return true
		}
	}
	return false
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// shifted returns a number plus a difference.
func shifted(n *json.Number, by int64) string {
	f, ok := new(big.Float).SetString(n.String())
	if !ok {
		panic(n)
	}
	return f.Add(f, new(big.Float).SetInt64(by)).Text('f', -1)
}

// textsFor returns hostile values of a parameter in a path or a query.
func textsFor(p parameter) []string {
	out := hostileText
	if isWait(p.Name) {
		out = []string{"-1", "1e999", "9223372036854775808", "x", "\x00", "61", "1.5", "[]"}
	}
	out = append([]string(nil), out...)
	if s := p.Schema; s.Maximum != nil {
		out = append(out, shifted(s.Maximum, 1))
	}
	if p.Schema.MaxLength > 0 && p.Schema.MaxLength < 10_000 {
		out = append(out, strings.Repeat("a", p.Schema.MaxLength), strings.Repeat("𝔘", p.Schema.MaxLength+1))
	}
	return out
}

// escaped encodes a value for a path, in which a slash is no part of a name, or for a query.
func escaped(in, value string) string {
	if in == "query" {
		return url.QueryEscape(value)
	}
	value = url.PathEscape(value)
	if strings.Trim(value, ".") == "" { // dots alone are removed from a path
		value = strings.ReplaceAll(value, ".", "%2e")
	}
	return value
}
