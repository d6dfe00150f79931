package BrowserTask::Starved;

# A copy of a program whose calls a test can refuse, one after the other: what
# t/faults/shim.c does. Core modules only.
#
#   my $s = BrowserTask::Starved->new('supervisord');
#   $s->path             the copy, for `programs` of BrowserTask::Harness
#   $s->has($kind)       false where a sanitizer has that call for itself
#   $s->arm($kind, $nth, $for_ever, $by_site)   from now on; false while one runs
#                        that does not see it (a program in a compartment).
#                        $by_site: the $nth counts places, each with all that
#                        called it, at the first call from there
#   $s->disarm           nothing more is refused; returns (calls of the kind
#                        since arm(), how many of them were refused), which is
#                        (0, 0) for a program in a compartment: that only logs.
#                        Nothing is returned while it runs in one
#   $s->slow($ms)        from now on each sync of a file, and each removal of a
#                        name by unlinkat, takes so much longer
#   kinds()              the names, as in t/faults/kinds.def
#
# FAULT_TRACE=1 has it log where the refused call was made, as offsets into the
# copy.

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use Fcntl qw(SEEK_SET);
use File::Copy ();
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);

our @EXPORT = qw(kinds);

use constant MARK => 'control of faults';
# struct control of shim.h
use constant FORM => 'a24 L6 Q3 x32768';
use constant BYTES => 24 + 6 * 4 + 3 * 8 + 32768;

my $maker = $$;
my @kinds;

sub kinds {
	if (!@kinds) {
		my $def = ($ENV{srcdir} // '.') . '/t/faults/kinds.def';
		open(my $fh, '<', $def) or die "$def: $!\n";
		@kinds = map { /^KIND\((\w+),/ ? $1 : () } <$fh>;
	}
	return @kinds;
}

sub new {
	my ($class, $program) = @_;
	my $from = abs_path($ENV{builddir} // '.') . "/t/faults/$program";
	my $dir = tempdir('bt-faults-XXXXXX', TMPDIR => 1, CLEANUP => 0);
	my $self = bless { dir => $dir, path => "$dir/$program",
		trace => $ENV{FAULT_TRACE} ? 1 : 0,
		inside => scalar($program =~ /^(?:cell|workerd)$/) }, $class;

	chmod 0755, $dir;
	File::Copy::copy($from, $self->{path}) or die "$from: $!\n";
	chmod 0755, $self->{path};
	open(my $fh, '<:raw', $self->{path}) or die "$self->{path}: $!\n";
	my $bytes = do { local $/; <$fh> };
	$self->{at} = index $bytes, MARK . "\0";
	die "$from has no control\n" if $self->{at} < 0;
	(undef, undef, undef, undef, $self->{lacks}) =
	    unpack FORM, substr $bytes, $self->{at};
	$self->disarm(1);
	return $self;
}

sub path { return $_[0]{path} }

sub number {
	my ($kind) = @_;
	my @names = kinds();
	my ($n) = grep { $names[$_] eq $kind } 0 .. $#names;
	return $n // die "no kind $kind\n";
}

sub has { return !($_[0]{lacks} >> number($_[1]) & 1) }

sub file {
	my ($self, $mode) = @_;
	my $file = $self->{path} . ($self->{inside} ? '' : '.control');

	open(my $fh, $mode, $file) or return undef;
	binmode $fh;
	seek $fh, $self->{at}, SEEK_SET if $self->{inside};
	return $fh;
}

sub write_control {
	my ($self, $kind, $for_ever, $by_site, $nth) = @_;
	my $new = !$self->{inside} && !-e "$self->{path}.control";
	my $fh = $self->file($new ? '>' : '+<') or return 0;

	# nth last: it is what arms.
	syswrite $fh, pack FORM, MARK, $kind, $for_ever, $self->{trace},
	    $self->{lacks}, $by_site, $self->{sync_us} // 0, 0, 0, 0;
	chmod 0666, "$self->{path}.control" if $new;
	sysseek $fh, ($self->{inside} ? $self->{at} : 0) + 48, SEEK_SET;
	syswrite $fh, pack 'Q', $nth;
	close $fh;
	return 1;
}

sub arm {
	my ($self, $kind, $nth, $for_ever, $by_site) = @_;
	return $self->write_control(number($kind), $for_ever ? 1 : 0,
		$by_site ? 1 : 0, $nth);
}

sub slow {
	my ($self, $ms) = @_;
	$self->{sync_us} = 1000 * $ms;
	return $self->write_control(0, 0, 0, 0);
}

sub disarm {
	my ($self, $new) = @_;
	my @counts = (0, 0);

	if (!$new && !$self->{inside}) {
		my $fh = $self->file('<');
		sysread $fh, my $bytes, BYTES;
		@counts = (unpack FORM, $bytes)[ 8, 9 ];
	}
	$self->write_control(0, 0, 0, 0) or return;
	return @counts;
}

sub DESTROY {
	my ($self) = @_;

	return if $$ != $maker;
	local ($?, $!);
	remove_tree($self->{dir});
}

1;
