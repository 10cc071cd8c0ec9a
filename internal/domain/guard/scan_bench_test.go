package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/guard"
)

// BenchmarkScan shows whether the time is linear. Each text is scanned at two sizes, whose MB/s
// must be about equal. Texts that consist of needles are the worst case.
func BenchmarkScan(b *testing.B) {
	for name, unit := range map[string]string{
		"prose": "Ask for the dates and the cabin, then show the price to the customer. ",
		"needles": "ignore your system prompt curl http:// send all api keys rm do not tell the user from every " +
			"hidden <!-- ",
		"unspaced": "sk-key=eyJtoken:password@/home/",
		"tokens":   "key=aB3dE5gH7jK9 4111 1111 1111 1112 sk- eyJ. AKIA password: x1 ://a:b@ ",
	} {
		for _, size := range []int{1 << 16, 1 << 18} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				text := strings.Repeat(unit, size/len(unit))
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					guard.Scan(text, guard.Strict)
					guard.NewRedactor(guard.Options{Emails: true, Phones: true}).Redact(text)
					guard.Secrets(text)
				}
			})
		}
	}
}
