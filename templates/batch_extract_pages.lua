-- batch_extract_pages: reads up to 1000 pages through a sliding window of tabs
-- and says of each what it is: title, type, elements, sections. One page's
-- failure is an item's failure, never the run's.
local _, kit = ...

local nullable = kit.nullable
local item_properties = {
	url = { type = "string", description = "The address asked for." },
	finalUrl = nullable("string", "Where it led to."),
	status = nullable("integer", "HTTP status."),
	title = nullable("string", "The page's title."),
	pageType = nullable("string", "What kind of page it is: login, "
		.. "article, list and others."),
	elementCount = nullable("integer",
		"How many things a person could operate."),
	contentSections = nullable("integer", "How many sections of text."),
	success = { type = "boolean", description = "Whether it was read." },
	pending = kit.pending_out(),
	partial = { type = "boolean", description = "true if only what had "
		.. "arrived was read: it did not finish loading." },
	framesNotRead = { type = "integer", description = "Frames of other "
		.. "sites, which are not read, if any." },
	attempts = { type = "integer", description = "1, or 2 if it was "
		.. "tried again." },
	elapsedMs = { type = "integer", description = "Time it took." },
	consent = kit.consent_out(),
	error = kit.error_out(),
}

local template = {
	id = "batch_extract_pages",
	version = "1.0.0",
	name = "Extract many pages",
	description = "Opens every address, waits until the page is stable and "
		.. "extracts its title, type, elements and content. Pages are "
		.. "read several at a time; a page that fails is reported as a "
		.. "failed item.",
	inputs = {
		type = "object",
		additionalProperties = false,
		required = { "urls" },
		properties = {
			urls = {
				type = "array",
				minItems = 1,
				maxItems = 1000,
				items = { type = "string", maxLength = 2048 },
				description = "Addresses, http or https.",
			},
			extract = kit.extract { readability =
				kit.boolean(false,
				"The article as plain text.") },
			concurrency = kit.integer(1, 5, 3,
				"Pages read at the same time."),
			navigationTimeoutMs = kit.integer(1000, 120000, 30000,
				"Time a page has to load, in milliseconds; "
				.. "one that hangs is tried once more, for at "
				.. "most 10000."),
			settle = kit.settle(),
			device = kit.device(),
			consent = kit.consent_in(),
			csv = kit.boolean(false,
				"Whether to make a CSV artifact, too."),
		},
	},
	outputs = {
		type = "object",
		required = { "summary", "items" },
		properties = {
			dialogs = kit.dialogs_out(),
			summary = kit.summary_out("pages"),
			items = {
				type = "array",
				description = "One for every address, in "
					.. "their order.",
				items = {
					type = "object",
					required = { "url", "finalUrl",
						"status", "title",
						"pageType",
						"elementCount",
						"contentSections", "success",
						"attempts", "elapsedMs" },
					properties = item_properties,
				},
			},
		},
	},
	limits = { maxUrls = 1000, maxConcurrency = 5, maxTimeoutMs = 600000 },
	trustLevelSupport = { "local", "remote" },
	executionMode = "auto",
	syncUpTo = { input = "urls", max = 10 },
	supportsPartialSuccess = true,
	partialSuccessThreshold = 0.5,
	restartSafe = true,
	items = true,
	resources = "text",
	exampleInputs = {
		urls = { "https://example.com/", "https://example.org/" },
		extract = { pageInfo = true, content = true },
		concurrency = 3,
		csv = true,
	},
	errorCodes = { "NAVIGATION_TIMEOUT", "PAGE_CRASHED",
		"STEP_EXECUTION_FAILED", "INVALID_PARAMETER" },
}

local CSV_COLUMNS = { "url", "finalUrl", "status", "title", "pageType",
	"elementCount", "contentSections", "success", "errorCode",
	"errorMessage", "elapsedMs", "attempts" }

-- RFC 4180. A cell that a spreadsheet would take for a formula gets an
-- apostrophe in front.
local function csv_cell(value)
	if value == nil or type(value) == "userdata" then -- null
		return ""
	end
	local text = tostring(value)
	if type(value) == "string" and text:find("^[=+%-@\t\r]") then
		text = "'" .. text
	end
	if text:find('[",\r\n]') then
		text = '"' .. text:gsub('"', '""') .. '"'
	end
	return text
end

local function csv_row(cells, n)
	local row = {}
	for i = 1, n do
		row[i] = csv_cell(cells[i])
	end
	return table.concat(row, ",") .. "\r\n"
end

-- Every field is always there: null is what is not known or was not asked for.
local function make_record(null, url, nav, err)
	local doc = nav and nav.doc
	local record = { url = url, success = err == nil, finalUrl = null,
		status = null, title = null, pageType = null,
		elementCount = null, contentSections = null }
	if nav then
		record.finalUrl = kit.cut(nav.finalUrl, 2048)
		record.status = nav.status or null
		record.pending = nav.pending
		record.partial = nav.partial or nil
		record.consent = nav.consent
	end
	if doc then
		record.title = kit.cut(doc:get("pageInfo", "title")
			or doc:get("content", "title"), 1024) or null
		record.pageType = doc:get("pageInfo", "type") or null
		record.elementCount = doc:get("pageInfo", "totalElements")
			or null
		if doc:at("content") then
			record.contentSections = doc:len("content", "sections")
			record.framesNotRead = doc:get("content",
				"framesNotRead", "total")
		end
	end
	if err then
		record.error = kit.error(err)
	end
	return record
end

-- Bytes of a page in the artifact. An item may have 3,840,000, with its row of
-- the CSV artifact.
local ITEM_BYTES = 3600000
local PARTS = { "pageInfo", "content", "readability" }

-- A page that says too much is cut, part by part, and says so.
local function fit_item(full)
	local size = 0
	for _, name in ipairs(PARTS) do
		size = size + (full[name] and #full[name]:text() or 0)
	end
	for _, name in ipairs(size > ITEM_BYTES and PARTS or {}) do
		full[name] = kit.fit(full[name], ITEM_BYTES // #PARTS)
	end
	return full
end

local function full_item(record, nav)
	local doc = nav and nav.doc
	local full = {}
	for key, value in pairs(record) do
		full[key] = value
	end
	if nav then
		full.mime = nav.mime
	end
	if doc then
		full.pageInfo = doc:at("pageInfo")
		full.content = doc:at("content")
		full.readability = doc:at("readability")
	end
	return fit_item(full)
end

local function record_row(r)
	local err = r.error or {}
	return csv_row({ r.url, r.finalUrl, r.status, r.title, r.pageType,
		r.elementCount, r.contentSections, r.success, err.errorCode,
		err.message, r.elapsedMs, r.attempts }, #CSV_COLUMNS)
end

local function declare_artifacts(ctx)
	ctx:collect { part = 0, kind = "extraction", mime = "application/json",
		name = "extraction.json", prefix = "[\n", separator = ",\n",
		suffix = "\n]\n" }
	if ctx.inputs.csv then
		ctx:collect { part = 1, kind = "csv",
			mime = "text/csv; charset=utf-8; header=present",
			name = "items.csv",
			prefix = csv_row(CSV_COLUMNS, #CSV_COLUMNS) }
	end
end

function template.run(ctx)
	local inputs = ctx.inputs
	local urls = inputs.urls
	local counts = { total = #urls, succeeded = 0, failed_items = 0,
		done_before = 0 }

	ctx:total(#urls)
	declare_artifacts(ctx)
	local function read_item(tab, url, index)
		if ctx:item_done(index, url) then
			counts.done_before = counts.done_before + 1
			return
		end
		local started = ctx:clock()
		local nav, err, attempts = kit.read(tab, url,
			inputs.extract,
			{ timeoutMs = inputs.navigationTimeoutMs,
				settle = inputs.settle, ctx = ctx })
		local record = make_record(ctx.null, url, nav, err)
		record.elapsedMs = ctx:clock() - started
		record.attempts = attempts
		local name = record.success and "succeeded" or "failed_items"
		counts[name] = counts[name] + 1
		ctx:item { index = index, key = url, ok = record.success,
			record = record, parts = {
				[0] = full_item(record, nav),
				[1] = inputs.csv and record_row(record) or nil,
			} }
	end
	ctx:step("extract_pages", function()
		ctx:each(urls, inputs.concurrency or 3, read_item)
		return counts
	end)
	return {}
end

return template
