/** Requests and answers, made by `make client-ts` of the OpenAPI document. */

/**
 * Another name of a collection.
 */
export type Alias = {
    name: string;
    collection: string;
};

/**
 * The new collection of an alias.
 */
export type AliasTarget = {
    /**
     * Printable characters, without a space at its beginning or end.
     */
    collection: string;
};

/**
 * The aliases there are, by name.
 */
export type Aliases = {
    aliases: Array<Alias>;
};

/**
 * A photo, stored or uploaded, and a sentence to explain.
 */
export type AlignRequest = {
    collection?: string;
    /**
     * What is searched for. Emoji are read as their names: "🐶" is "dog".
     */
    text: string;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * How strongly neighbouring words share a region.
     */
    beta?: number;
};

/**
 * The alignment of regions and words.
 *
 * The links, or phrases, and words add up to the score.
 */
export type Alignment = {
    text: string;
    score: number;
    image: string | null;
    width: number;
    height: number;
    fragments: Array<Fragment>;
    boxes: Array<[
        number,
        number,
        number,
        number
    ]>;
    links: Array<Link>;
    phrases: Array<Phrase>;
    /**
     * What words of a stored item gave, as in a search.
     */
    words?: Array<WordGave>;
    notes?: Array<string>;
};

/**
 * The region with most of the captioner's attention at a word.
 */
export type Attention = {
    box: [
        number,
        number,
        number,
        number
    ];
    /**
     * Of its attention, 0 to 1.
     */
    share: number;
};

/**
 * The share of exact hits in the usual answers.
 */
export type Audit = {
    collection: string;
    queries: number;
    /**
     * The mean over queries; null where there were none.
     */
    recall: number | null;
    /**
     * The smallest of any query.
     */
    worst: number | null;
    /**
     * Why there were no queries, where there were none.
     */
    note: string | null;
};

/**
 * Queries to answer twice, as usual and exactly.
 *
 * The default is the newest searches, of either side.
 */
export type AuditRequest = {
    collection?: string;
    /**
     * What the queries look for: photos, or sentences like them.
     */
    side?: 'images' | 'sentences';
    queries?: Array<string> | null;
    /**
     * How many hits to give.
     */
    limit?: number;
};

/**
 * An unfinished snapshot, and its later address.
 */
export type BegunSnapshot = {
    name: string;
    url: string;
};

/**
 * A bonus for items of a filter, or by a number.
 */
export type BoostIn = {
    weight: number;
    key?: string | null;
    filter?: {
        [key: string]: JsonValue;
    } | null;
};

/**
 * A box, and its similarity to a phrase: comparable within one photo.
 */
export type Box = {
    box: [
        number,
        number,
        number,
        number
    ];
    similarity: number;
};

/**
 * A sentence and its log-probability (natural logarithm, summed over words).
 *
 * `probability` says how likely all things that the sentence names are there: by captioner and
 * matcher together, or by the matcher alone where captions were not calibrated with it. A sentence
 * that names nothing is a guess as well. `score` is that of the sentence as a query.
 */
export type Caption = {
    text: string;
    log_probability: number;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    /**
     * Whether it is a guess: less probable than `unsure_below`, or of nothing.
     */
    unsure: boolean;
    score: number;
    words: Array<CaptionWord>;
};

/**
 * Describe a photo, stored or uploaded, and its regions.
 *
 * Captions come from a beam search, or are drawn at random where a `temperature` is given.
 */
export type CaptionRequest = {
    collection?: string;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * Hypotheses followed; 1 is greedy.
     */
    beam?: number;
    /**
     * Captions to give, at most `beam` of a beam search.
     */
    count?: number;
    /**
     * Draw captions by nucleus sampling, words from p^(1/temperature).
     */
    temperature?: number | null;
    /**
     * Draws the same captions again; for a `temperature`.
     */
    seed?: number | null;
    /**
     * The captioner's own limit if not given.
     */
    max_words?: number | null;
    /**
     * How many regions to describe at most; none whose caption is improbable.
     */
    regions?: number;
};

/**
 * A word of a caption: the matcher's evidence, and the captioner's attention.
 *
 * Function words have no contribution, box and confidence. Contributions add up to the caption's
 * score, where no fragment stands for the whole sentence.
 */
export type CaptionWord = {
    text: string;
    span: [
        number,
        number
    ];
    log_probability: number;
    /**
     * What the word and function words next to it give to the score.
     */
    contribution: number | null;
    /**
     * The region that earned it; null where the whole photo answers, or nothing.
     */
    box: [
        number,
        number,
        number,
        number
    ] | null;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    confidence: number | null;
    /**
     * Whether the photo supports the word; null where it is not known.
     */
    supported: boolean | null;
    /**
     * Null where the captioner does not attend to boxes.
     */
    attention: Attention | null;
};

/**
 * Captions of a photo and of its regions, best first.
 *
 * The best caption is the one that captioner and matcher together rank first, not always the one
 * of the largest log-probability. Regions whose caption the matcher finds improbable are left out,
 * and captions of a broken form: there may be none.
 */
export type Captions = {
    captions: Array<Caption>;
    regions: Array<Region>;
    /**
     * A caption with a lower probability is a guess.
     */
    unsure_below: number | null;
    notes?: Array<string>;
};

/**
 * A click on an item for a text.
 */
export type ClickIn = {
    collection?: string;
    /**
     * The text as it was searched for.
     */
    query: string;
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
    kind?: 'click' | 'cart' | 'purchase';
    /**
     * What it counts; those of one item add up.
     */
    weight?: number;
};

/**
 * A named set of items with one model, as read here.
 *
 * After `tessera index --reembed --keep`, a service of the former model reads what was kept.
 */
export type Collection = {
    name: string;
    /**
     * Other names that stand for it.
     */
    aliases: Array<string>;
    items: number;
    /**
     * What imports on this machine still bring, as far as known.
     */
    coming: number;
    /**
     * Whether an import on this machine runs, or starts.
     */
    importing: boolean;
    /**
     * The fingerprint of the model that made it.
     */
    model: string;
    dimension: number;
    score: string;
    /**
     * Whether the loaded model made it.
     */
    usable: boolean;
};

/**
 * The collections there are, by name.
 */
export type Collections = {
    collections: Array<Collection>;
};

/**
 * A year, month or day, and its number of relevant items.
 *
 * `filter` is a condition on the key that exactly these items meet.
 */
export type DateCount = {
    value: string;
    count: number;
    filter: {
        [key: string]: string;
    };
};

/**
 * Items to delete: by their ids, or by a filter.
 */
export type Deletion = {
    collection?: string;
    ids?: Array<string> | null;
    filter?: {
        [key: string]: JsonValue;
    } | null;
    /**
     * Count the items, and delete none.
     */
    dry_run?: boolean;
};

/**
 * The numbers of matching and deleted items.
 *
 * A dry run deletes 0.
 */
export type DeletionOut = {
    collection: string;
    matched: number;
    deleted: number;
};

/**
 * The last attempt to deliver something.
 */
export type Delivery = {
    /**
     * The header webhook-id.
     */
    id: string;
    event: string;
    /**
     * When, in UTC: 2026-05-01T12:00:00+00:00.
     */
    time: string;
    /**
     * `failed` is tried again, up to 10 times in three days.
     */
    status: 'delivered' | 'failed' | 'given_up';
    attempts: number;
    /**
     * What the receiver answered, or why it was not reached.
     */
    detail: string;
};

/**
 * A photo of a series.
 */
export type Duplicate = {
    id: string;
    /**
     * Of its files, as they were imported.
     */
    bytes: number;
    /**
     * Whether it has the largest file: the one to keep, if any.
     */
    largest: boolean;
    /**
     * Whether the largest has the same content, byte by byte.
     */
    same_file: boolean;
    taken: string | null;
    /**
     * The address of its display copy.
     */
    image: string | null;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
};

/**
 * The series of a collection, the largest first.
 */
export type Duplicates = {
    collection: string;
    /**
     * How many there are.
     */
    series: number;
    /**
     * How many photos they have together.
     */
    photos: number;
    /**
     * Of all their files but the largest of each. Deleting items frees none of them: originals are never touched.
     */
    bytes: number;
    groups: Array<Series>;
    cursor: string | null;
};

/**
 * A query for a demonstration, and the id of its item.
 */
export type Example = {
    text: string;
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
};

/**
 * Example queries of the page; none if the collection holds no demonstration.
 */
export type Examples = {
    queries: Array<Example>;
};

/**
 * A key for facets: counts of its values, ranges of numbers, and dates.
 */
export type FacetIn = {
    /**
     * A metadata key.
     */
    key: string;
    limit?: number;
    /**
     * Where ranges of numbers meet; round ones if empty.
     */
    bounds?: Array<number>;
    /**
     * The periods that dates are counted by; by their span if not set.
     */
    by?: 'year' | 'month' | 'day' | null;
};

/**
 * The values of a key, counted over all relevant items.
 *
 * With `collapse`, over their groups: so many hits a filter on the value shows.
 */
export type Facet = {
    key: string;
    values: Array<ValueCount>;
    /**
     * How many values there are.
     */
    distinct: number;
    /**
     * How many of the items have none.
     */
    missing: number;
    /**
     * The smallest number.
     */
    least: number | null;
    /**
     * The largest number.
     */
    most: number | null;
    ranges: Array<RangeCount>;
    /**
     * The periods of dates: longer ones than asked for where those are many.
     */
    by?: 'year' | 'month' | 'day' | null;
    /**
     * Periods with items, the earliest first.
     */
    dates?: Array<DateCount>;
};

/**
 * A file among the snapshots, but not one of them.
 */
export type ForeignFile = {
    name: string;
    bytes: number;
    /**
     * Why it is none, or cannot be read.
     */
    problem: string;
};

/**
 * A word or a region, with a readable label.
 */
export type Fragment = {
    label: string;
    span?: [
        number,
        number
    ] | null;
    box?: [
        number,
        number,
        number,
        number
    ] | null;
};

/**
 * Find the regions of phrases in a photo, stored or uploaded.
 */
export type GroundRequest = {
    collection?: string;
    /**
     * What is searched for. Emoji are read as their names: "🐶" is "dog".
     */
    text: string;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * Parts of the text, in its words; without any, its noun phrases.
     */
    phrases?: Array<string> | null;
    /**
     * Boxes to give for each phrase.
     */
    count?: number;
};

/**
 * A phrase and its boxes, the likeliest first; none if it is absent.
 *
 * `probability` is that of its being there, where that is as likely as not beforehand.
 */
export type Grounded = {
    text: string;
    span: [
        number,
        number
    ];
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    present: boolean;
    boxes: Array<Box>;
};

/**
 * The boxes of a text's phrases in a photo.
 */
export type Grounding = {
    text: string;
    image: string | null;
    width: number;
    height: number;
    phrases: Array<Grounded>;
    notes?: Array<string>;
};

/**
 * An item by its best photo.
 *
 * Links, or phrases, and words add up to the score.
 */
export type ImageHit = {
    id: string;
    score: number;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    /**
     * Which of the item's photos answers best, from 0.
     */
    photo: number;
    /**
     * The second of a video or animation; null for photos.
     */
    second?: number | null;
    image: string;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
    metadata: {
        [key: string]: unknown;
    };
    sentences: Array<string>;
    links: Array<Link>;
    phrases: Array<Phrase>;
    /**
     * What words of its name, place, keywords, description and text gave.
     */
    words?: Array<WordGave>;
    /**
     * How many items it stands for, itself among them, if collapsed.
     */
    variants?: number;
};

/**
 * Photos, best first or sorted, and counts of all if asked for.
 */
export type ImageHits = {
    collection: string;
    model: string;
    query: Query;
    /**
     * A hit with a lower probability counts as weak. Where a text asks for things, half or more of the photos from there on are expected to be right.
     */
    weak_below: number | null;
    searched: Searched;
    cursor: string | null;
    /**
     * From which on photos were sorted and counted here.
     */
    min_probability?: number | null;
    /**
     * How many items are as probable and pass the filter, if counted.
     */
    total?: number | null;
    /**
     * How many hits there are, where photos are collapsed.
     */
    groups?: number | null;
    /**
     * Counts over all of these.
     */
    facets?: Array<Facet>;
    hits: Array<ImageHit>;
};

/**
 * A search for photos.
 *
 * The query is a text, weighted phrases, a stored photo or an upload. With `sort` or `facets` it
 * may be left out: then all photos that pass the filter are listed.
 */
export type ImageSearch = {
    collection?: string;
    text?: string | null;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * Search by a text and a photo together, and count the photo so much, where the text counts 1: "like this, but blue". Below 0, what looks like the photo loses; 0 is refused, as the photo would not count.
     */
    photo_weight?: number | null;
    /**
     * The part of the photo to search with: left, top, right, bottom, 0 to 1.
     */
    box?: [
        number,
        number,
        number,
        number
    ] | null;
    phrases?: Array<PhraseIn> | null;
    /**
     * How many hits to give.
     */
    limit?: number;
    /**
     * `cursor` of the page before.
     */
    cursor?: string | null;
    filter?: {
        [key: string]: JsonValue;
    } | null;
    /**
     * Leave out hits that are less probable. Where photos are sorted or counted and this is not set, it is `weak_below`.
     */
    min_probability?: number | null;
    /**
     * Look at every stored row, so that no hit can be missed; slower.
     */
    exact?: boolean;
    /**
     * Correct words that the model does not know, and say so; without it they are left out.
     */
    spelling?: boolean;
    /**
     * The metadata keys that hits carry: all of them but `text_boxes` if not set, none if empty. They change no score; /search/products ranks by the words in fields as well.
     */
    fields?: Array<string> | null;
    /**
     * Keys whose values are counted among relevant items, with ranges of numbers and periods of dates.
     */
    facets?: Array<string | FacetIn>;
    /**
     * By relevance if not set.
     */
    sort?: SortIn | null;
    /**
     * Give the best photo of each value of this key, such as `series`: one of those that are nearly the same.
     */
    collapse?: string | null;
    /**
     * Look up words of the text in the title, keywords, description, people, city, region, country, folder and file of items, too: photos with them rise.
     */
    words?: boolean;
    /**
     * Take dates in the text, such as "June 2021" or "last summer", for a filter of `taken`, in collections with such dates.
     */
    dates?: boolean;
};

/**
 * A line of a bulk import; `image` is base64, `image_url` an address.
 */
export type ImportLine = {
    id: string;
    metadata?: {
        [key: string]: JsonValue;
    };
    sentences?: Array<string>;
    image?: string | null;
    /**
     * Address of the photo instead of an image: http:// or https://, on the public internet. The service fetches it if its operator has switched that on.
     */
    image_url?: string | null;
    /**
     * Further photos, in order: each as base64, or as an address like image_url.
     */
    images?: Array<string>;
    /**
     * Add what the photos' files state, such as `taken` and `camera`, to the metadata, of which sent values stay (photos.md). Of a video or an animation several photos are kept.
     */
    read_metadata?: boolean;
    /**
     * A digest or time of the sender's own, given back as it is: by it a sync knows what has changed.
     */
    stamp?: string | null;
};

/**
 * The last import of some paths: counts, and unread files.
 */
export type Import = {
    paths: Array<string>;
    /**
     * When, in UTC: 2026-05-01T12:00:00+00:00.
     */
    ended: string;
    /**
     * By status: stored, patched, skipped, refused …
     */
    counts: {
        [key: string]: number;
    };
    unread: Array<Unread>;
    /**
     * The first hundred.
     */
    refused: Array<Refused>;
    /**
     * Why items of missing files were not deleted.
     */
    kept: Array<string>;
};

/**
 * The outcome of a bulk import's line.
 *
 * "stored" means safe on disk.
 */
export type ImportStatus = {
    line: number;
    id?: string | null;
    status: 'stored' | 'refused';
    reason?: string | null;
};

/**
 * The last imports into a collection on this machine, the newest first.
 */
export type Imports = {
    imports: Array<Import>;
};

/**
 * Statistics of a collection's index.
 */
export type Index = {
    collection: string;
    segments: number;
    /**
     * Bytes of codes and summaries, in files and in memory.
     */
    bytes: number;
    /**
     * The change up to which everything is searched.
     */
    revision: number;
    /**
     * Changes that the index has not taken in yet; 0 if whole.
     */
    behind: number;
    /**
     * Items that are stored.
     */
    items: number;
    /**
     * The share of it whose shards answer; 1 without a cluster.
     */
    coverage: number;
    /**
     * What imports on this machine still bring, as far as known.
     */
    coming: number;
    /**
     * Whether an import on this machine runs, or starts.
     */
    importing: boolean;
    images: Side;
    sentences: Side;
};

/**
 * The fields of an item, next to its photo.
 */
export type ItemBody = {
    collection?: string;
    metadata?: {
        [key: string]: JsonValue;
    };
    sentences?: Array<string>;
    /**
     * Address of the photo instead of an image: http:// or https://, on the public internet. The service fetches it if its operator has switched that on.
     */
    image_url?: string | null;
    /**
     * Further photos, in order: each as base64, or as an address like image_url.
     */
    images?: Array<string>;
    /**
     * Add what the photos' files state, such as `taken` and `camera`, to the metadata, of which sent values stay (photos.md). Of a video or an animation several photos are kept.
     */
    read_metadata?: boolean;
    /**
     * A digest or time of the sender's own, given back as it is: by it a sync knows what has changed.
     */
    stamp?: string | null;
};

/**
 * A stored item, with the size of its first photo; 0 without one.
 */
export type Item = {
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
    metadata: {
        [key: string]: unknown;
    };
    sentences: Array<string>;
    image: string | null;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
    images: Array<Photo>;
    /**
     * What was sent as its stamp.
     */
    stamp: string | null;
    /**
     * What is not given as it was sent.
     */
    notes?: Array<string>;
};

/**
 * A merge patch (RFC 7396) of a stored item, and its new list of photos.
 *
 * Its sentences stay as they are, and no photo that stays is embedded again.
 */
export type ItemPatch = {
    /**
     * Objects are merged, null deletes a key; null instead of all deletes all.
     */
    metadata?: {
        [key: string]: JsonValue;
    } | null;
    /**
     * All photos in order: numbers of photos that stay, from 0, and new photos, as base64 or an address.
     */
    images?: Array<number | string> | null;
    /**
     * Another stamp; null removes it.
     */
    stamp?: string | null;
};

/**
 * A page of items, in the order of their ids.
 */
export type Items = {
    collection: string;
    items: Array<Item>;
    cursor: string | null;
    /**
     * Damaged items that were left out: put them again, or restore a snapshot.
     */
    damaged?: Array<string>;
};

export type JsonValue = unknown;

/**
 * The language of a collection's words.
 */
export type LanguageIn = {
    /**
     * A code of ISO 639 such as `de`; `und` for words as they are written.
     */
    language: string;
};

/**
 * The language of a collection's words, English if none was chosen.
 */
export type Language = {
    language: string;
    name: string;
};

/**
 * The limits of uploads.
 */
export type Limits = {
    /**
     * Of one image file.
     */
    upload_bytes: number;
    /**
     * Of all image files of an item together.
     */
    item_bytes: number;
    upload_pixels: number;
    text_bytes: number;
};

/**
 * A term of a score: a fragment of the sentence and its region.
 */
export type Link = {
    label: string;
    span?: [
        number,
        number
    ] | null;
    box?: [
        number,
        number,
        number,
        number
    ] | null;
    fragment: number;
    region: number;
    similarity: number;
    /**
     * What the whole photo gave; of a sentence, its words without a link.
     */
    whole?: number | null;
    /**
     * What the region, or the word, added to that.
     */
    added?: number | null;
    /**
     * The query negates it; it gives 0 or less.
     */
    negated?: boolean;
};

/**
 * A new snapshot.
 */
export type MadeSnapshot = {
    name: string;
    url: string;
    bytes: number;
    made: string;
    pictures: number;
    collections: Array<SnapshotCollection>;
    /**
     * Pictures that items name and the service has lost.
     */
    lost: number;
};

/**
 * A region or a fragment of a sentence, with its vector's length.
 */
export type Magnitude = {
    label: string;
    span?: [
        number,
        number
    ] | null;
    box?: [
        number,
        number,
        number,
        number
    ] | null;
    /**
     * Its number in the photo or the sentence, from 0.
     */
    fragment: number;
    magnitude: number;
};

/**
 * The longest vectors of each photo and sentence of an item.
 */
export type Magnitudes = {
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
    photos: Array<Array<Magnitude>>;
    sentences: Array<Array<Magnitude>>;
};

/**
 * The loaded matcher.
 */
export type Matcher = {
    name: string;
    fingerprint: string;
    dimension: number;
    score: string;
};

/**
 * A loaded checkpoint.
 */
export type Model = {
    name: string;
    fingerprint: string;
};

/**
 * The loaded models, and the limits of uploads.
 */
export type Models = {
    matcher: Matcher;
    captioner: Model | null;
    region_captioner: Model | null;
    grounder: Model | null;
    limits: Limits;
};

/**
 * A new webhook with its secret, shown this once.
 */
export type NewWebhook = {
    id: string;
    url: string;
    events: Array<string>;
    /**
     * When, in UTC.
     */
    created: string;
    /**
     * False once the receiver has answered 410.
     */
    enabled: boolean;
    /**
     * Deliveries that are due, or will be.
     */
    waiting: number;
    /**
     * Deliveries that were given up.
     */
    lost: number;
    last: Delivery | null;
    secret: string;
};

/**
 * A part of a score: words, exact, looks, likeness, meaning, boost or pinned.
 *
 * likeness: the similarity to the photo sent with the text, times `photo_weight`. Those of
 * looks, of likeness and of meaning are explained by the links of the photo, or of the sentence,
 * with what is searched for; the similarities of links add up to its own score.
 */
export type Part = {
    kind: 'words' | 'exact' | 'looks' | 'likeness' | 'meaning' | 'boost' | 'pinned';
    gave: number;
    field?: string | null;
    word?: string | null;
    links?: Array<Link>;
    phrases?: Array<Phrase>;
};

/**
 * A stored photo, with the size of its display copy.
 */
export type Photo = {
    image: string;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
};

/**
 * A part of a query; the weight scales its part of the score.
 */
export type PhraseIn = {
    /**
     * What is searched for. Emoji are read as their names: "🐶" is "dog".
     */
    text: string;
    weight?: number;
};

/**
 * A phrase and its part of the score.
 *
 * The box is null without a region.
 */
export type Phrase = {
    text: string;
    span: [
        number,
        number
    ];
    similarity: number;
    whole: number | null;
    added: number | null;
    box: [
        number,
        number,
        number,
        number
    ] | null;
    negated: boolean;
};

/**
 * Pinned items of a text, in any case and punctuation.
 */
export type PinIn = {
    text: string;
    ids: Array<string>;
};

/**
 * Pinned items of a text, in their order.
 */
export type Pin = {
    text: string;
    ids: Array<string>;
};

/**
 * All pinned items of a collection; those before are replaced.
 */
export type PinsIn = {
    pins: Array<PinIn>;
};

/**
 * The pinned items of a collection.
 */
export type Pins = {
    pins: Array<Pin>;
    /**
     * Which of the items are not stored.
     */
    notes?: Array<string>;
};

/**
 * The reason for a failed request (RFC 9457).
 */
export type Problem = {
    /**
     * The kind of problem, as a URN: urn:tessera:problem:not-found.
     */
    type: string;
    title: string;
    status: number;
    /**
     * What was wrong with this request, and what would work.
     */
    detail: string;
    /**
     * The path that was asked for.
     */
    instance: string;
};

/**
 * An item and the parts of its score, with their sum.
 */
export type ProductHit = {
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
    score: number;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    /**
     * Which of the item's photos answers best, from 0.
     */
    photo: number;
    /**
     * The second of a video or animation; null for photos.
     */
    second?: number | null;
    image: string | null;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
    metadata: {
        [key: string]: unknown;
    };
    sentences: Array<string>;
    /**
     * How many relevant items its group has, with itself.
     */
    variants: number;
    parts: Array<Part>;
};

/**
 * The query as it was understood.
 *
 * Spans of links point into `corrected`, where there is one.
 */
export type ProductQuery = {
    text: string | null;
    /**
     * The text as photos are asked for it, if it is another: with corrected spellings, and without a minus.
     */
    corrected: string | null;
    words: Array<Word>;
    refused: Array<Word>;
    notes: Array<string>;
};

/**
 * A search for items by text or photo.
 *
 * Without both, it lists all items that pass the filter.
 *
 * A blank text is as none.
 */
export type ProductSearch = {
    collection?: string;
    text?: string | null;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * Search by a text and a photo together, and count the photo so much, where the text counts 1: "like this, but blue". Below 0, what looks like the photo loses; 0 is refused, as the photo would not count.
     */
    photo_weight?: number | null;
    /**
     * The part of the photo to search with: left, top, right, bottom, 0 to 1.
     */
    box?: [
        number,
        number,
        number,
        number
    ] | null;
    filter?: {
        [key: string]: JsonValue;
    } | null;
    /**
     * From which on a photo, or a sentence, alone makes an item relevant. Not set: 0.6 where a text is sent without a photo, and any item has its words or such a photo; else `weak_below`. Where a text and a photo are sent with a `photo_weight` above 0, it is compared with how probably an item's photo is like the one sent, and the text only ranks: a hit's `probability`, the smaller of both, can be below it.
     */
    min_probability?: number | null;
    /**
     * Keys whose values are counted among relevant items, with ranges of numbers and periods of dates.
     */
    facets?: Array<string | FacetIn>;
    /**
     * By relevance if not set.
     */
    sort?: SortIn | null;
    /**
     * Give the best item of each value of this key.
     */
    collapse?: string | null;
    weights?: WeightsIn;
    /**
     * Weights of fields; 0 leaves one out.
     */
    fields?: {
        [key: string]: number;
    };
    boosts?: Array<BoostIn>;
    /**
     * How many hits to give.
     */
    limit?: number;
    /**
     * `cursor` of the page before.
     */
    cursor?: string | null;
};

/**
 * Items, best first, and facets over all of the relevant ones.
 */
export type Products = {
    collection: string;
    model: string;
    query: ProductQuery;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    weak_below: number | null;
    /**
     * From which on a photo, or a sentence, alone made an item relevant here.
     */
    min_probability: number;
    /**
     * How many items were searched.
     */
    items: number;
    /**
     * Changes that are not searched yet; 0 if all are.
     */
    behind: number;
    /**
     * Whether the photos and sentences of all were searched.
     */
    complete: boolean;
    /**
     * The share of them that was, below 1 while a shard of a cluster is away.
     */
    coverage: number;
    /**
     * Damaged items that were left out: put them again, or restore a snapshot.
     */
    damaged?: Array<string>;
    /**
     * How many items are relevant and pass the filter.
     */
    total: number;
    /**
     * How many hits there are: groups, where they are collapsed.
     */
    groups: number;
    facets: Array<Facet>;
    hits: Array<ProductHit>;
    cursor: string | null;
};

/**
 * A part of the text as a filter, such as a date.
 *
 * `words` say what it stands for. To refuse it, send `"dates": false`.
 */
export type QueryFilter = {
    text: string;
    span: [
        number,
        number
    ];
    filter: {
        [key: string]: unknown;
    };
    words: string;
};

/**
 * The query as it was understood.
 *
 * Spans point into `corrected`, where there is one.
 */
export type Query = {
    text: string | null;
    /**
     * The text with corrected spellings.
     */
    corrected?: string | null;
    /**
     * The words that were corrected.
     */
    words?: Array<Word>;
    /**
     * Dates of the text: only photos of any of them are hits.
     */
    filters?: Array<QueryFilter>;
    fragments: Array<Fragment>;
    notes?: Array<string>;
};

/**
 * The number of relevant items in a range of numbers.
 *
 * The range is from `start` to below `end`.
 */
export type RangeCount = {
    start: number | null;
    end: number | null;
    count: number;
};

/**
 * A refused file or row.
 */
export type Refused = {
    place: string;
    reason: string;
};

/**
 * A region of a photo; links and phrases add up to its score.
 *
 * `whole` is what the whole photo would give to a word, `added` what the region gives beyond it.
 */
export type RegionHit = {
    id: string;
    score: number;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    /**
     * Which of the item's photos it is a part of, from 0.
     */
    photo: number;
    /**
     * The second of a video or animation; null for photos.
     */
    second?: number | null;
    image: string;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
    metadata: {
        [key: string]: unknown;
    };
    sentences: Array<string>;
    links: Array<Link>;
    phrases: Array<Phrase>;
    /**
     * Its number in the photo; 0 is the whole photo.
     */
    region: number;
    box: [
        number,
        number,
        number,
        number
    ];
    /**
     * The address of the region as a picture.
     */
    crop: string;
};

/**
 * Regions, best first.
 */
export type RegionHits = {
    collection: string;
    model: string;
    query: Query;
    /**
     * A hit with a lower probability counts as weak. Where a text asks for things, half or more of the photos from there on are expected to be right.
     */
    weak_below: number | null;
    searched: Searched;
    cursor: string | null;
    hits: Array<RegionHit>;
};

/**
 * A part of a photo and a sentence about it.
 *
 * `score` is the matcher's for the two alone, `probability` what that is worth.
 */
export type Region = {
    box: [
        number,
        number,
        number,
        number
    ];
    caption: string;
    log_probability: number;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    score: number;
};

/**
 * A search for parts of photos.
 *
 * The query is a text, weighted phrases, a stored photo, a part of it, or an upload.
 */
export type RegionSearch = {
    collection?: string;
    text?: string | null;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * Search by a text and a photo together, and count the photo so much, where the text counts 1: "like this, but blue". Below 0, what looks like the photo loses; 0 is refused, as the photo would not count.
     */
    photo_weight?: number | null;
    /**
     * The part of the photo to search with: left, top, right, bottom, 0 to 1.
     */
    box?: [
        number,
        number,
        number,
        number
    ] | null;
    phrases?: Array<PhraseIn> | null;
    /**
     * How many hits to give.
     */
    limit?: number;
    /**
     * `cursor` of the page before.
     */
    cursor?: string | null;
    filter?: {
        [key: string]: JsonValue;
    } | null;
    /**
     * Refused: probabilities are calibrated for whole photos.
     */
    min_probability?: number | null;
    /**
     * Look at every stored row, so that no hit can be missed; slower.
     */
    exact?: boolean;
    /**
     * Correct words that the model does not know, and say so; without it they are left out.
     */
    spelling?: boolean;
    /**
     * The metadata keys that hits carry: all of them but `text_boxes` if not set, none if empty. They change no score; /search/products ranks by the words in fields as well.
     */
    fields?: Array<string> | null;
    /**
     * How many regions of a photo may be hits; of those that show the same, the best one.
     */
    per_photo?: number;
};

/**
 * Another name for a collection.
 */
export type Renaming = {
    /**
     * Printable characters, without a space at its beginning or end.
     */
    name: string;
    /**
     * Leave the old name as an alias.
     */
    alias?: boolean;
};

/**
 * Deleted photos of folders to store again, by their ids.
 */
export type Restoration = {
    collection?: string;
    ids: Array<string>;
};

/**
 * Photos of the next import of their folder.
 *
 * A service that follows the folder imports them at once.
 */
export type RestorationOut = {
    collection: string;
    restored: Array<string>;
    /**
     * Ids of no deleted photo of a folder: send these again.
     */
    unknown: Array<string>;
};

/**
 * The role of a key; each role includes those before it.
 */
export type Role = 'read' | 'write' | 'admin';

/**
 * Statistics of a search.
 */
export type Searched = {
    /**
     * Whether every row was looked at, so that none was missed.
     */
    exact: boolean;
    /**
     * The photos or sentences there are to search.
     */
    rows: number;
    /**
     * How many of them were scored.
     */
    candidates: number;
    /**
     * Changes that the index has not taken in yet; 0 if whole.
     */
    behind: number;
    /**
     * Whether all of the collection was searched.
     */
    complete: boolean;
    /**
     * The share of it that was, below 1 while a shard of a cluster is away.
     */
    coverage: number;
    /**
     * Damaged items that were left out: put them again, or restore a snapshot.
     */
    damaged?: Array<string>;
};

/**
 * A sentence and its score; links add up to it, as phrases do.
 *
 * A text is compared by the cosine of the sums of both sides' words. Then a link's `fragment`
 * counts in the query, and `label`, `span` and `region` are of the word that answers it.
 */
export type SentenceHit = {
    id: string;
    position: number;
    sentence: string;
    score: number;
    /**
     * Comparable between queries; null where the matcher is not calibrated.
     */
    probability: number | null;
    image: string | null;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    metadata: {
        [key: string]: unknown;
    };
    links: Array<Link>;
    phrases: Array<Phrase>;
};

/**
 * Sentences, best first.
 */
export type SentenceHits = {
    collection: string;
    model: string;
    query: Query;
    /**
     * A hit with a lower probability counts as weak. Where a text asks for things, half or more of the photos from there on are expected to be right.
     */
    weak_below: number | null;
    searched: Searched;
    cursor: string | null;
    hits: Array<SentenceHit>;
};

/**
 * Near-duplicates: copies of a photo, or shots of a burst.
 */
export type Series = {
    /**
     * The value of the key `series` of these items.
     */
    series: string;
    photos: number;
    /**
     * Of all files but the largest.
     */
    bytes: number;
    /**
     * The largest first, up to a hundred.
     */
    items: Array<Duplicate>;
};

/**
 * The key of a new session.
 */
export type SessionIn = {
    key: string;
};

/**
 * The rights of the caller.
 */
export type Session = {
    /**
     * Whether this service needs a key.
     */
    key_needed: boolean;
    /**
     * The name of the caller's key, or of the user; null without one.
     */
    name: string | null;
    /**
     * What the caller may do; null where a key is missing.
     */
    role: Role | null;
    /**
     * The collections that the key is bound to; null if it is bound to none.
     */
    collections: Array<string> | null;
    /**
     * Whether files of photos may be read by /items/{id}/original.
     */
    originals?: boolean;
};

/**
 * Statistics of the photos or the sentences of a collection.
 */
export type Side = {
    rows: number;
    /**
     * Rows that no file has yet.
     */
    in_memory: number;
    /**
     * Rows by what finds them: "scan", "codes".
     */
    found_by: {
        [key: string]: number;
    };
};

/**
 * A stored item, read by its id.
 */
export type SingleItem = {
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
    metadata: {
        [key: string]: unknown;
    };
    sentences: Array<string>;
    image: string | null;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
    images: Array<Photo>;
    /**
     * What was sent as its stamp.
     */
    stamp: string | null;
    /**
     * What is not given as it was sent.
     */
    notes?: Array<string>;
    /**
     * Whether /items/{id}/original has the file that it was imported from.
     */
    original?: boolean;
};

/**
 * A collection in a snapshot.
 */
export type SnapshotCollection = {
    name: string;
    items: number;
    revision: number;
    /**
     * The fingerprint of the model that made it.
     */
    model: string;
};

/**
 * A snapshot and its address for download.
 */
export type Snapshot = {
    name: string;
    url: string;
    bytes: number;
    made: string;
    pictures: number;
    collections: Array<SnapshotCollection>;
};

/**
 * The snapshots there are, the newest first.
 */
export type Snapshots = {
    snapshots: Array<Snapshot>;
    /**
     * The one that is being made.
     */
    making: BegunSnapshot | null;
    /**
     * What else in the folder has a name that ends in .tar.
     */
    foreign: Array<ForeignFile>;
};

/**
 * The key for the order of hits.
 *
 * Items without it come last.
 */
export type SortIn = {
    /**
     * A metadata key.
     */
    key: string;
    order?: 'asc' | 'desc';
};

/**
 * A newly stored item.
 *
 * Its notes name the parts of photos that were left out.
 */
export type StoredItem = {
    /**
     * An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.
     */
    id: string;
    metadata: {
        [key: string]: unknown;
    };
    sentences: Array<string>;
    image: string | null;
    /**
     * A WebP of at most 320 pixels to keep for good; size=medium has 640.
     */
    thumbnail: string | null;
    width: number;
    height: number;
    images: Array<Photo>;
    /**
     * What was sent as its stamp.
     */
    stamp: string | null;
    /**
     * What is not given as it was sent.
     */
    notes?: Array<string>;
};

/**
 * A completion of a text, and its number of items.
 *
 * The items have all its words.
 *
 * Only words of titles and of short metadata count.
 */
export type Suggestion = {
    text: string;
    items: number;
};

/**
 * Completions of a text, ordered by number of items.
 */
export type Suggestions = {
    collection: string;
    suggestions: Array<Suggestion>;
};

/**
 * All synonyms of a collection; those before are replaced.
 */
export type SynonymsIn = {
    /**
     * Words that are taken for each other, a list for each meaning.
     */
    synonyms: Array<Array<string>>;
};

/**
 * The synonyms of a collection, besides those of TESSERA_SYNONYMS.
 */
export type Synonyms = {
    synonyms: Array<Array<string>>;
};

/**
 * Search sentences by an upload, a stored photo, a text or phrases.
 */
export type TextSearch = {
    collection?: string;
    text?: string | null;
    id?: string | null;
    /**
     * Which of the photos of the item that `id` names, from 0.
     */
    photo?: number;
    /**
     * Search by a text and a photo together, and count the photo so much, where the text counts 1: "like this, but blue". Below 0, what looks like the photo loses; 0 is refused, as the photo would not count.
     */
    photo_weight?: number | null;
    /**
     * The part of the photo to search with: left, top, right, bottom, 0 to 1.
     */
    box?: [
        number,
        number,
        number,
        number
    ] | null;
    phrases?: Array<PhraseIn> | null;
    /**
     * How many hits to give.
     */
    limit?: number;
    /**
     * `cursor` of the page before.
     */
    cursor?: string | null;
    filter?: {
        [key: string]: JsonValue;
    } | null;
    /**
     * Leave out hits that are less probable.
     */
    min_probability?: number | null;
    /**
     * Look at every stored row, so that no hit can be missed; slower.
     */
    exact?: boolean;
    /**
     * Correct words that the model does not know, and say so; without it they are left out.
     */
    spelling?: boolean;
    /**
     * The metadata keys that hits carry: all of them but `text_boxes` if not set, none if empty. They change no score; /search/products ranks by the words in fields as well.
     */
    fields?: Array<string> | null;
};

/**
 * A kind of files left out of an import.
 */
export type Unread = {
    kind: string;
    count: number;
    /**
     * Places of some.
     */
    examples: Array<string>;
};

/**
 * A value, and its number of relevant items.
 */
export type ValueCount = {
    value: string | number | number | boolean | null;
    count: number;
};

/**
 * An address for news of a collection's imports.
 */
export type WebhookIn = {
    /**
     * https:// on the public internet, unless TESSERA_WEBHOOKS allows others.
     */
    url: string;
    /**
     * What it is told of.
     */
    events?: Array<'import.finished' | 'import.failed'>;
    /**
     * `whsec_` and 24 to 64 bytes in base64; one is made if there is none.
     */
    secret?: string | null;
};

/**
 * A webhook, without its secret.
 */
export type Webhook = {
    id: string;
    url: string;
    events: Array<string>;
    /**
     * When, in UTC.
     */
    created: string;
    /**
     * False once the receiver has answered 410.
     */
    enabled: boolean;
    /**
     * Deliveries that are due, or will be.
     */
    waiting: number;
    /**
     * Deliveries that were given up.
     */
    lost: number;
    last: Delivery | null;
};

/**
 * The webhooks of a collection, oldest first.
 */
export type Webhooks = {
    webhooks: Array<Webhook>;
};

/**
 * The scores of perfect matches, by kind.
 *
 * `meaning` is that of an item's sentences in the joint space with the text; they are asked where
 * the text has an English word that no item has. Together with a text,
 * a similar photo gives looks times `photo_weight`.
 */
export type WeightsIn = {
    words?: number;
    exact?: number;
    looks?: number;
    meaning?: number;
};

/**
 * The place of a word in one of an item's photos.
 */
export type WordBox = {
    /**
     * Which of the item's photos answers best, from 0.
     */
    photo: number;
    box: [
        number,
        number,
        number,
        number
    ];
};

/**
 * A word of the item, and its share of the score.
 */
export type WordGave = {
    word: string;
    field: string;
    gave: number;
    /**
     * Where it stands in the photos, if it is text that they show.
     */
    boxes?: Array<WordBox>;
};

/**
 * A word of the text, its place, and its interpretation.
 */
export type Word = {
    text: string;
    span: [
        number,
        number
    ];
    /**
     * The spelling that it was corrected to.
     */
    spelling: string | null;
    /**
     * Words that are searched as well.
     */
    synonyms?: Array<string>;
};
