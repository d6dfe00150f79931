-- multi_tab_compare: reads up to ten pages side by side and says where they
-- differ: in title, number of elements, first sections, and in any text. A page
-- that cannot be read is left out of the comparison, with a warning.
local json, kit = ...

local FIELDS = { "title", "elementCount", "topSections", "content" }
local MAX_URLS = 10
local READ_CHARS = 50000 -- of a page, if the caller does not say
local MAX_LINES = 2000
local TOLD_LINES = 10 -- of each page
local PAIR_LINES = 100 -- looked at for one that is nearly the same
local SECTION_BYTES = 400
local DIFF_BYTES = 100
local nullable = kit.nullable

local snapshot = {
	type = "object",
	required = { "url", "finalUrl", "status", "title", "elementCount",
		"topSections", "success" },
	properties = {
		url = { type = "string", description = "The address asked for." },
		finalUrl = nullable("string", "Where it led to."),
		status = nullable("integer", "HTTP status."),
		title = nullable("string", "The page's title."),
		elementCount = nullable("integer",
			"How many things a person could operate."),
		topSections = { type = { "array", "null" },
			items = { type = "string" },
			description = "Its first sections, heading and text, "
				.. "shortened." },
		success = { type = "boolean",
			description = "Whether it was read." },
		pending = kit.pending_out(),
		consent = kit.consent_out(),
		error = kit.error_out(),
	},
}

local diff = {
	type = "object",
	required = { "field", "same", "values" },
	properties = {
		field = { type = "string", enum = FIELDS,
			description = "What was compared." },
		same = nullable("boolean", "Whether all pages that were read "
			.. "agree; null if less than two were."),
		values = { type = "array", description = "What each page has, "
			.. "in the order of urls, sections shortened; of "
			.. "content the first lines that not all pages "
			.. "have; null if it was not read." },
		delta = { type = "integer", description = "elementCount: the "
			.. "largest less the smallest." },
		compared = { type = "array", items = { type = "integer" },
			description = "topSections, content: how many "
				.. "sections or lines of each page were "
				.. "compared." },
		total = { type = "array", items = { type = "integer" },
			description = "And how many were read." },
		differing = { type = "array", items = { type = "integer" },
			description = "content: how many lines of each page "
				.. "not all others have." },
		complete = { type = "boolean", description = "content: "
			.. "whether each page was read to its end." },
		changedPositions = { type = "array",
			items = { type = "integer" },
			description = "topSections: positions, from 1, at "
				.. "which they differ." },
	},
}

local template = {
	id = "multi_tab_compare",
	version = "1.0.0",
	name = "Compare pages",
	description = "Reads 2 to 10 pages side by side and says where they "
		.. "differ: title, number of elements, first sections, and any "
		.. "text, prices and tables included. Use it "
		.. "for versions, languages or offers of the same thing; to "
		.. "only read pages use batch_extract_pages.",
	inputs = kit.object({
		urls = {
			type = "array", minItems = 2, maxItems = MAX_URLS,
			items = { type = "string", maxLength = 2048 },
			description = "Addresses, http or https.",
		},
		extract = kit.extract(),
		settle = kit.settle(),
		device = kit.device(),
		consent = kit.consent_in(),
		compare = kit.object({
			fields = {
				type = "array", minItems = 1, uniqueItems = true,
				items = { type = "string", enum = FIELDS },
				default = FIELDS,
				description = "What to compare; content is "
					.. "all text, line by line.",
			},
			topSections = kit.integer(1, 20, 3,
				"How many sections from the top are compared."),
			numericTolerance = kit.integer(0, 1000000, 0,
				"Numbers of elements that differ by no more "
				.. "than this are the same."),
		}, nil, "What counts as a difference."),
		concurrency = kit.integer(1, 5, 3,
			"Pages read at the same time."),
		navigationTimeoutMs = kit.navigation_timeout(
			"Time a page has to load, in milliseconds; one that "
			.. "hangs is tried once more, for at most 10000."),
	}, { "urls" }),
	outputs = {
		type = "object",
		required = { "summary", "snapshots", "diffs" },
		properties = {
			dialogs = kit.dialogs_out(),
			summary = kit.summary_out("pages"),
			snapshots = { type = "array", items = snapshot,
				description = "The pages, in the order of "
					.. "urls." },
			diffs = { type = "array", items = diff,
				description = "One for every field that was "
					.. "compared." },
		},
	},
	limits = { maxUrls = MAX_URLS, maxConcurrency = 5,
		maxTimeoutMs = 600000 },
	trustLevelSupport = { "local", "remote" },
	executionMode = "sync",
	supportsPartialSuccess = true,
	partialSuccessThreshold = 0.5,
	restartSafe = true,
	resources = "text",
	exampleInputs = {
		urls = { "https://example.com/", "https://example.org/" },
		compare = { fields = { "title", "topSections" },
			topSections = 3 },
	},
	errorCodes = { "NAVIGATION_TIMEOUT", "PAGE_CRASHED",
		"STEP_EXECUTION_FAILED", "INVALID_PARAMETER" },
}

-- White space and case do not count.
local function normal(text)
	return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""):lower())
end

local function section_text(section)
	local heading, text = section.heading, section.text
	if type(heading) == "string" and heading ~= "" then
		return type(text) == "string" and heading .. ": " .. text
			or heading
	end
	return type(text) == "string" and text or ""
end

local function title_of(doc)
	local title = doc:get("pageInfo", "title")
		or doc:get("content", "title")
	return type(title) == "string" and title or nil
end

local function add_lines(lines, text)
	for line in type(text) == "string" and text:gmatch("[^\n]+") or "" do
		lines.n = lines.n + 1
		lines[lines.n <= MAX_LINES and lines.n or MAX_LINES + 1] = line
	end
end

-- What is compared, whole.
local function facts_of(doc, wanted)
	local facts = { title = title_of(doc),
		elementCount = doc:get("pageInfo", "totalElements") }

	if not doc:at("content") then
		return facts
	end
	local lines, sections = { n = 0 }, {}
	sections.n = doc:len("content", "sections")
	for i = 1, sections.n do
		local section = doc:get("content", "sections", i)
		if i <= wanted then
			sections[i] = section_text(section)
		end
		add_lines(lines, section.heading)
		add_lines(lines, section.text)
	end
	lines[MAX_LINES + 1] = nil
	lines.complete = doc:get("content", "truncated") ~= true
		and lines.n <= MAX_LINES
	facts.topSections, facts.content = sections, lines
	return facts
end

local function short_sections(sections, max)
	if not sections then
		return nil
	end
	local short = json.array {}
	for i, text in ipairs(sections) do
		short[i] = kit.cut(text, max)
	end
	return short
end

local function make_snapshot(null, page)
	local facts, nav = page.facts or {}, page.nav
	return {
		url = page.url,
		finalUrl = nav and kit.cut(nav.finalUrl, 2048) or null,
		status = nav and nav.status or null,
		title = kit.cut(facts.title, 1024) or null,
		elementCount = facts.elementCount or null,
		topSections = short_sections(facts.topSections, SECTION_BYTES)
			or null,
		success = page.err == nil,
		pending = nav and nav.pending,
		consent = nav and nav.consent,
		error = page.err and kit.error(page.err) or nil,
	}
end

local compare = {}

function compare.title(list)
	local same = true
	for _, title in ipairs(list) do
		same = same and normal(title) == normal(list[1])
	end
	return { same = same }
end

function compare.elementCount(list, rules)
	local least, most = math.min(table.unpack(list)),
		math.max(table.unpack(list))
	return { same = most - least <= rules.numericTolerance,
		delta = most - least }
end

-- How many of each page's are there to compare, and how many were read.
local function counts_of(list)
	local compared, total = json.array {}, json.array {}
	for i, values in ipairs(list) do
		compared[i], total[i] = #values, values.n
	end
	return compared, total
end

function compare.topSections(list)
	local changed, longest = json.array {}, 0
	for _, sections in ipairs(list) do
		longest = math.max(longest, #sections)
	end
	for position = 1, longest do
		local first = normal(list[1][position] or "")
		for _, sections in ipairs(list) do
			if normal(sections[position] or "") ~= first then
				changed[#changed + 1] = position
				break
			end
		end
	end
	local compared, total = counts_of(list)
	return { same = #changed == 0, changedPositions = changed,
		compared = compared, total = total }
end

-- How often each line is on the page that has it least often.
local function common_lines(list)
	local common = nil
	for _, lines in ipairs(list) do
		local count = {}
		for _, line in ipairs(lines) do
			local key = normal(line)
			local n = (count[key] or 0) + 1
			if not common or n <= (common[key] or 0) then
				count[key] = n
			end
		end
		common = count
	end
	return common
end

-- Sets lines.own: those that not all pages have.
function compare.content(list)
	local common = common_lines(list)
	local differing, same, complete = json.array {}, true, true

	for i, lines in ipairs(list) do
		local left = {}
		lines.own = {}
		for _, line in ipairs(lines) do
			local key = normal(line)
			left[key] = (left[key] or common[key] or 0) - 1
			if left[key] < 0 then
				lines.own[#lines.own + 1] = line
			end
		end
		differing[i] = #lines.own
		same = same and #lines.own == 0
		complete = complete and lines.complete
	end
	local compared, total = counts_of(list)
	return { same = same, differing = differing, complete = complete,
		compared = compared, total = total }
end

-- How many bytes two texts begin with that are the same.
local function common_start(a, b)
	local n = math.min(#a, #b)
	for i = 1, n do
		if a:byte(i) ~= b:byte(i) then
			return i - 1
		end
	end
	return n
end

-- A long line from shortly before where it differs from the nearest of others.
local function short_line(line, others)
	local best = 0
	if #line > DIFF_BYTES then
		for i = 1, math.min(#others, PAIR_LINES) do
			best = math.max(best, common_start(line, others[i]))
		end
	end
	if best <= DIFF_BYTES // 2 or best == #line then
		return kit.cut(line, DIFF_BYTES)
	end
	local from = kit.cut(line, best - DIFF_BYTES // 4)
	return "..." .. kit.cut(line:sub(#from + 1), DIFF_BYTES)
end

local function own_lines(lines, others)
	local told = json.array {}
	for i = 1, math.min(#lines.own, TOLD_LINES) do
		told[i] = short_line(lines.own[i], others)
	end
	return told
end

-- The value in a list of values: as in the snapshot, sections shorter. Of lines
-- those that differ; others are those of another page.
local function diff_value(field, fact, others)
	if field == "content" then
		return fact.own and own_lines(fact, others.own)
			or json.array {}
	elseif field == "topSections" then
		return short_sections(fact, DIFF_BYTES)
	elseif field == "title" then
		return kit.cut(fact, 1024)
	end
	return fact
end

local function make_diff(null, field, pages, rules)
	local known, values = {}, json.array {}

	for _, page in ipairs(pages) do
		known[#known + 1] = page.facts and page.facts[field]
	end
	local result = #known < 2 and { same = null }
		or compare[field](known, rules)
	for i, page in ipairs(pages) do
		local fact = page.facts and page.facts[field]
		local other = fact == known[1] and known[2] or known[1]
		values[i] = fact and diff_value(field, fact, other) or null
	end
	result.field, result.values = field, values
	return result
end

local function rules_of(inputs)
	local given = inputs.compare or {}
	return { fields = given.fields or FIELDS,
		topSections = given.topSections or 3,
		numericTolerance = given.numericTolerance or 0 }
end

-- What was asked for, and what the comparison needs.
local function extract_of(inputs, rules)
	local extract = {}
	for name, value in pairs(inputs.extract or {}) do
		extract[name] = value
	end
	extract.maxContentLength = extract.maxContentLength or READ_CHARS
	for _, field in ipairs(rules.fields) do
		if field == "topSections" or field == "content" then
			extract.content = true
		else
			extract.pageInfo = true
		end
	end
	return extract
end

local function read_pages(ctx, rules)
	local inputs = ctx.inputs
	local extract = extract_of(inputs, rules)
	local pages, done = {}, 0

	ctx:each(inputs.urls, inputs.concurrency or 3, function(tab, url, i)
		local page = { url = url }
		page.nav, page.err = kit.read(tab, url, extract,
			{ timeoutMs = inputs.navigationTimeoutMs,
				settle = inputs.settle, ctx = ctx })
		if page.nav and page.nav.doc then
			page.facts = facts_of(page.nav.doc, rules.topSections)
		end
		if page.err then
			ctx:warn(kit.cut(url, 200) .. ": "
				.. kit.cut(page.err.message, 300))
		end
		pages[i] = page
		done = done + 1
		ctx:progress { done = done, total = #inputs.urls + 1,
			message = "read " .. kit.cut(url, 200) }
	end)
	return pages
end

local function store_pages(ctx, pages)
	local all = json.array {}
	for i, page in ipairs(pages) do
		local doc = page.nav and page.nav.doc
		all[i] = { url = page.url,
			finalUrl = page.nav and page.nav.finalUrl,
			pageInfo = doc and doc:at("pageInfo"),
			content = doc and doc:at("content"),
			error = page.err and kit.error(page.err) }
	end
	ctx:artifact { kind = "extraction", mime = "application/json",
		name = "extraction.json", data = all }
end

local function compare_pages(ctx, pages, rules)
	local result = { snapshots = json.array {}, diffs = json.array {} }
	local good, different = 0, 0

	for i, page in ipairs(pages) do
		result.snapshots[i] = make_snapshot(ctx.null, page)
		good = good + (page.err and 0 or 1)
	end
	for i, field in ipairs(rules.fields) do
		result.diffs[i] = make_diff(ctx.null, field, pages, rules)
		different = different + (result.diffs[i].same and 0 or 1)
	end
	if good < 2 then
		ctx:warn("less than two pages were read: nothing to compare")
	end
	result.summary = { total = #pages, succeeded = good,
		failed = #pages - good }
	return result, { fields = #rules.fields, different = different }
end

function template.run(ctx)
	local rules = rules_of(ctx.inputs)
	local urls = ctx.inputs.urls
	local pages, result

	ctx:progress { done = 0, total = #urls + 1 }
	ctx:step("read_pages", function()
		pages = read_pages(ctx, rules)
		store_pages(ctx, pages)
		return { pages = #pages }
	end)
	ctx:step("compare", function()
		local meta
		result, meta = compare_pages(ctx, pages, rules)
		return meta
	end)
	ctx:progress { done = #urls + 1, total = #urls + 1 }
	return result
end

return template
