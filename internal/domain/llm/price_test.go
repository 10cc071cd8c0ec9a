package llm_test

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

func TestCostIsRoundedUpInMicroDollars(t *testing.T) {
	t.Parallel()
	prices, err := llm.ParsePrices([]byte(
		`{"mine":{"input_micros":1,"output_micros":3},"gpt-4o":{"input_micros":7,"output_micros":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		model string
		usage llm.Usage
		want  int64
		known bool
	}{
		{"gpt-4o-mini", llm.Usage{Input: 1_000_000, Output: 1_000_000}, 750_000, true},
		{"openai/gpt-4o-mini-2024-07-18", llm.Usage{Input: 1000}, 150, true},
		{"mine", llm.Usage{Input: 1}, 1, true},
		{"mine", llm.Usage{Input: 999_999, Output: 1_000_000}, 4, true},
		{"mine", llm.Usage{}, 0, true},
		{"gpt-4o", llm.Usage{Input: 1_000_000}, 7, true},
		{"text-embedding-3-small", llm.Usage{Input: 1_000_000, Output: 9}, 20_000, true},
		{"empty_week-of", llm.Usage{Input: 1000}, 0, false},
		{"", llm.Usage{Input: 1000}, 0, false},
	} {
		if got, known := prices.Cost(test.model, test.usage); got != test.want || known != test.known {
			t.Errorf("%s %+v: got %d, %v, want %d, %v", test.model, test.usage, got, known, test.want, test.known)
		}
	}
	if list := llm.ListPrices(); list["gpt-4o"].InputMicros == 7 {
		t.Error("an overlay changed the built-in table")
	}
}

func TestBadPriceTablesAreRefused(t *testing.T) {
	t.Parallel()
	for _, overlay := range []string{`[]`, `{"m":{"input":1}}`, `{"m":{"input_micros":-1}}`,
		`{"m":{"input_micros":0.5}}`, `{"m":{"output_micros":2000000000}}`, `{`} {
		if _, err := llm.ParsePrices([]byte(overlay)); fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("%s: got %v", overlay, err)
		}
	}
	if prices, err := llm.ParsePrices(nil); err != nil || len(prices) != len(llm.ListPrices()) {
		t.Errorf("no overlay: got %v, %v", prices, err)
	}
}

func TestCostOfCachedAndWrittenInput(t *testing.T) {
	t.Parallel()
	prices, err := llm.ParsePrices([]byte(`{"m":{"input_micros":1000000,"output_micros":0,"cached_micros":100000,` +
		`"written_micros":1250000},"n":{"input_micros":1000000,"output_micros":0}}`))
	if err != nil {
		t.Fatal(err)
	}
	used := llm.Usage{Input: 1000, Cached: 600, Written: 300}
	for model, want := range map[string]int64{"m": 100 + 60 + 375, "n": 1000} {
		if got, _ := prices.Cost(model, used); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
	if got, _ := prices.Cost("m", llm.Usage{Input: 10, Cached: 600, Written: 300}); got != 1 {
		t.Errorf("cached input exceeds the input: %d", got)
	}
}
