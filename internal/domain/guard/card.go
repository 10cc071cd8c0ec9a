package guard

import "strings"

// cards finds payment card numbers: digits, possibly in groups with blanks or hyphens, with the
// prefix and length of a known scheme and a correct check digit (Luhn, ISO/IEC 7812). It reads each
// byte a bounded number of times.
func cards(text string) []window {
	var found []window
	for i := 0; i < len(text); {
		if !digit(text[i]) {
			i++
			continue
		}
		end, digits := digitRun(text, i)
		if !wordBefore(text, i) && !wordAfter(text, end) && card(digits) {
			found = append(found, window{i, end})
		}
		i = end
	}
	return found
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

// digitRun reads digits with single blanks or hyphens between them.
func digitRun(text string, start int) (end int, digits string) {
	var b strings.Builder
	i := start
	for i < len(text) {
		switch {
		case digit(text[i]):
			b.WriteByte(text[i])
			end = i + 1
		case (text[i] == ' ' || text[i] == '-') && i == end && i+1 < len(text) && digit(text[i+1]):
		default:
			return end, b.String()
		}
		i++
	}
	return end, b.String()
}

// wordBefore reports whether a letter, sign or point before the digits makes them part of something
// else.
func wordBefore(text string, i int) bool {
	if i == 0 {
		return false
	}
	switch b := text[i-1]; {
	case b == '-': // a minus sign, unless a word precedes it
		return i == 1 || strings.IndexByte(" \t\n:,[({=", text[i-2]) >= 0
	case letter(b):
		return !slashed(text, i-1) || strings.IndexByte("nrt", b) < 0
	default:
		return b == '_' || b == '.'
	}
}

func wordAfter(text string, i int) bool {
	return i < len(text) && (text[i] == '_' || letter(text[i]) || text[i] == '.' && i+1 < len(text) && digit(text[i+1]))
}

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// card recognizes Visa, Mastercard, American Express, Discover, Diners, JCB and UnionPay.
func card(digits string) bool {
	n := len(digits)
	if n < 13 || n > 19 {
		return false
	}
	two, four := digits[:2], digits[:4]
	known := digits[0] == '4' && (n == 13 || n == 16 || n == 19) ||
		n == 16 && ("51" <= two && two <= "55" || "2221" <= four && four <= "2720" || "3528" <= four &&
			four <= "3589") ||
		n == 15 && (two == "34" || two == "37") ||
		n >= 16 && (four == "6011" || two == "65" || "6440" <= four && four <= "6499" || two == "62") ||
		n == 14 && (two == "36" || two == "38" || "3000" <= four && four <= "3059")
	return known && luhn(digits)
}

func luhn(digits string) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}
