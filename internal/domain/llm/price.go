package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
)

// Price is the price of a model in micro-dollars per million tokens. 0.15 $ is 150000.
type Price struct {
	InputMicros   int64 `json:"input_micros"`
	OutputMicros  int64 `json:"output_micros"`
	CachedMicros  int64 `json:"cached_micros,omitempty"`  // of input from a cache; 0 means InputMicros
	WrittenMicros int64 `json:"written_micros,omitempty"` // of input written to a cache; 0 means InputMicros
}

// Prices maps model names to prices.
type Prices map[string]Price

// tokensPerPrice is the number of tokens of a Price.
const tokensPerPrice = 1_000_000

// maxPrice keeps tokens × price within 64 bits for every possible call.
const maxPrice = 1_000_000_000 // 1000 $ per million tokens

// versionSuffix matches the date or "latest" that providers append to a name.
var versionSuffix = regexp.MustCompile(`-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$`)

// listPrices are list prices as published by the providers in 2025, without discounts for batches or
// hours. They become outdated: ParsePrices overrides them.
var listPrices = Prices{
	"gpt-4o":                 {2_500_000, 10_000_000, 1_250_000, 0},
	"gpt-4o-mini":            {150_000, 600_000, 75_000, 0},
	"gpt-4.1":                {2_000_000, 8_000_000, 500_000, 0},
	"gpt-4.1-mini":           {400_000, 1_600_000, 100_000, 0},
	"gpt-4.1-nano":           {100_000, 400_000, 25_000, 0},
	"gpt-5":                  {1_250_000, 10_000_000, 125_000, 0},
	"gpt-5-mini":             {250_000, 2_000_000, 25_000, 0},
	"gpt-5-nano":             {50_000, 400_000, 5_000, 0},
	"o3":                     {2_000_000, 8_000_000, 500_000, 0},
	"o4-mini":                {1_100_000, 4_400_000, 275_000, 0},
	"claude-sonnet-4":        {3_000_000, 15_000_000, 300_000, 3_750_000},
	"claude-3-5-haiku":       {800_000, 4_000_000, 80_000, 1_000_000},
	"gemini-2.5-pro":         {1_250_000, 10_000_000, 310_000, 0},
	"gemini-2.5-flash":       {300_000, 2_500_000, 75_000, 0},
	"deepseek-chat":          {270_000, 1_100_000, 70_000, 0},
	"deepseek-reasoner":      {550_000, 2_190_000, 140_000, 0},
	"gpt-4o-transcribe":      {6_000_000, 10_000_000, 0, 0},
	"gpt-4o-mini-transcribe": {3_000_000, 5_000_000, 0, 0},
	"whisper-1":              {10_000_000, 0, 0, 0}, // 0.006 $ a minute, at AudioTokensPerSecond
	"text-embedding-3-small": {20_000, 0, 0, 0},
	"text-embedding-3-large": {130_000, 0, 0, 0},
	"text-embedding-ada-002": {100_000, 0, 0, 0},
}

// ListPrices returns the built-in table.
func ListPrices() Prices { return maps.Clone(listPrices) }

// ParsePrices returns the built-in table with the overrides of a JSON object such as
//
//	{"my-model": {"input_micros": 150000, "output_micros": 600000}}
//
// An empty overlay returns the built-in table.
func ParsePrices(overlay []byte) (Prices, error) {
	prices := ListPrices()
	if len(bytes.TrimSpace(overlay)) == 0 {
		return prices, nil
	}
	const hint = `write {"model": {"input_micros": 150000, "output_micros": 600000}}, in micro-dollars per million ` +
		`tokens`
	var given Prices
	decoder := json.NewDecoder(bytes.NewReader(overlay))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "invalid price table", hint)
	}
	for name, price := range given {
		all := []int64{price.InputMicros, price.OutputMicros, price.CachedMicros, price.WrittenMicros}
		if slices.Min(all) < 0 || slices.Max(all) > maxPrice {
			return nil, fault.New(fault.Misconfigured,
				"invalid price of model "+strconv.Quote(name)+": it must be 0 to 1000 dollars per million tokens", hint)
		}
		prices[name] = price
	}
	return prices, nil
}

// Cost returns the cost of a call in micro-dollars, rounded up. A name matches as it is, without
// the prefix of a provider ("openai/gpt-4o") or without a version ("gpt-4o-2024-08-06"). known is
// false for other models; their cost is 0.
func (t Prices) Cost(model string, u Usage) (micros int64, known bool) {
	price, known := t.find(model)
	if !known {
		return 0, false
	}
	u = u.Plausible()
	total := int64(u.Input-u.Cached-u.Written)*price.InputMicros + int64(u.Output)*price.OutputMicros +
		int64(u.Cached)*cmp.Or(price.CachedMicros, price.InputMicros) +
		int64(u.Written)*cmp.Or(price.WrittenMicros, price.InputMicros)
	return (total + tokensPerPrice - 1) / tokensPerPrice, true
}

func (t Prices) find(model string) (Price, bool) {
	bare := model[strings.LastIndex(model, "/")+1:]
	for _, name := range []string{model, bare, versionSuffix.ReplaceAllString(bare, "")} {
		if price, ok := t[name]; ok {
			return price, true
		}
	}
	return Price{}, false
}
