-- SPDX-License-Identifier: MIT
--
-- SRD in captures of rdmaemu, for Wireshark and tshark: tshark -X lua_script:srd.lua -r capture.pcapng
--
-- rdmaemu writes packets of SRD as reliable datagrams of the IBTA (opcodes 0x40 to 0x5f), since those of EFA devices are
-- not public. Wireshark takes these opcodes for Mellanox's DC, and looks for headers 8 bytes later than they are. So this
-- dissector reads them once more, from the BTH on: RDETH, DETH, RETH, AETH, immediate data.

local OPCODES = {
	[0] = "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_WITH_IMM", "SEND_ONLY", "SEND_ONLY_WITH_IMM",
	"RDMA_WRITE_FIRST", "RDMA_WRITE_MIDDLE", "RDMA_WRITE_LAST", "RDMA_WRITE_LAST_WITH_IMM", "RDMA_WRITE_ONLY",
	"RDMA_WRITE_ONLY_WITH_IMM", "RDMA_READ_REQUEST", "RDMA_READ_RESPONSE_FIRST", "RDMA_READ_RESPONSE_MIDDLE",
	"RDMA_READ_RESPONSE_LAST", "RDMA_READ_RESPONSE_ONLY", "ACKNOWLEDGE",
}

-- Headers by opcode. All packets have a RDETH, and requests a DETH.
local function set(...)
	local s = {}
	for _, op in ipairs({ ... }) do s[op] = true end
	return s
end
local IS_ANSWER = set(13, 14, 15, 16, 17)
local HAS_RETH = set(6, 10, 11, 12)
local HAS_AETH = set(13, 15, 16, 17)
local HAS_IMM = set(3, 5, 9, 11)

-- What a NAK says, by its syndrome: docs/design/srd.md.
local NAKS = {
	[0x61] = "invalid request", [0x62] = "remote access", [0x63] = "remote operational",
	[0x64] = "no such queue pair",
}

local srd = Proto("srd", "Scalable Reliable Datagram")
local f = {
	opcode = ProtoField.uint8("srd.opcode", "Opcode", base.DEC, OPCODES, 0x1f),
	dest = ProtoField.uint24("srd.destqp", "Destination Queue Pair", base.HEX),
	psn = ProtoField.uint24("srd.psn", "PSN in the flow"),
	resets = ProtoField.uint24("srd.resets", "Resets of the sender"),
	qkey = ProtoField.uint32("srd.qkey", "Q_Key", base.HEX),
	source = ProtoField.uint24("srd.srcqp", "Source Queue Pair", base.HEX),
	va = ProtoField.uint64("srd.reth.va", "Virtual Address", base.HEX),
	rkey = ProtoField.uint32("srd.reth.rkey", "Remote Key", base.HEX),
	length = ProtoField.uint32("srd.reth.length", "Length"),
	syndrome = ProtoField.uint8("srd.aeth.syndrome", "Syndrome", base.HEX),
	packets = ProtoField.uint24("srd.aeth.packets", "Packets that are answered"),
	imm = ProtoField.uint32("srd.imm", "Immediate Data", base.HEX),
}
srd.fields = f

local bth = Field.new("infiniband.bth")

-- Reads headers one after the other.
local function reader(tvb, at, tree)
	return function(field, len, skip)
		local range = tvb(at + (skip or 0), len)
		at = at + (skip or 0) + len
		if field then tree:add(field, range) end
		return range
	end
end

local function answer_text(syndrome)
	if syndrome >= 0x60 then return "NAK " .. (NAKS[syndrome] or "of an unknown code") end
	return syndrome >= 0x20 and "RNR NAK" or "ACKNOWLEDGE"
end

function srd.dissector(_, pinfo, root)
	local info = bth()
	if not info then return end
	local tvb, at = info.source, info.offset
	local first = tvb(at, 1):uint()
	if bit.rshift(first, 5) ~= 2 then return end
	local op = bit.band(first, 0x1f)
	local tree = root:add(srd, tvb(at))
	local read = reader(tvb, at, tree)
	local text = OPCODES[op] or "unknown opcode"

	read(f.opcode, 1)
	local dest = read(f.dest, 3, 4):uint()
	local psn = read(f.psn, 3, 1):uint()
	read(f.resets, 3, 1)
	if not IS_ANSWER[op] then
		read(f.qkey, 4)
		text = string.format("%s from QP 0x%06x", text, read(f.source, 3, 1):uint())
	end
	if HAS_RETH[op] then
		read(f.va, 8)
		read(f.rkey, 4)
		read(f.length, 4)
	end
	if HAS_AETH[op] then
		local syndrome = read(f.syndrome, 1):uint()
		local packets = read(f.packets, 3):uint()
		if op == 17 then text = string.format("%s of %d packets", answer_text(syndrome), packets) end
	end
	if HAS_IMM[op] then read(f.imm, 4) end
	pinfo.cols.protocol = "SRD"
	pinfo.cols.info = string.format("SRD %s to QP 0x%06x, PSN %d", text, dest, psn)
end

register_postdissector(srd)
