// Package search decides which documents a search reads and in which order it returns them. BestByWords plans which
// documents to read, so that the best by words are found without reading every document with a query word. Rank joins
// the ranks by words and by vector and adds what documents say of themselves.
package search
