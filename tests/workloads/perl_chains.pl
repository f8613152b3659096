#
# Calls of every kind, whose chains are known: each ends in a subroutine that uses CPU time.
#
# usage: perl_chains.pl SECONDS
#
# Writes a line for each chain: the frames from the outermost to the innermost one, each with the line that it was at, with
# semicolons between them. Runs on every version from 5.32 on.
#
use strict;
use warnings;
use utf8;
no warnings qw(recursion once void);

our %seen;
our $in_thread = 0;
our $folder = "/tmp/perl_chains_$$";

# As the profiler is to call a level: what is in a file that is required is called by that. caller() gives a format's name as
# the format itself, which cannot be copied.
sub get_name {
    my ($level) = @_;
    my ($text, $is_require) = (caller($level + 1))[6, 7];
    return eval { my $name = (caller($level + 2))[3] } || 'main::Page' unless $is_require;
    $text =~ s{.*/}{};
    return "require $text";
}

# A level says where it was called: that is the line of the one that follows.
sub make_chain {
    my @names;
    my $line;
    for (my $level = 1; my ($called_at) = (caller($level))[2]; $level++) {
        push @names, get_name($level) . " \@$line" if $level > 1;
        $line = $called_at;
    }
    push @names, "{main} \@$line" unless $in_thread;
    return join ';', reverse @names;
}

# Note who has called, once for each chain, and do what takes time.
sub use_time {
    my ($leaf) = @_;
    my $chain = make_chain();
    if (!$seen{$chain}++) {
        utf8::encode($chain);
        syswrite STDOUT, "$chain\n";
    }
    my $x = 0;
    for (my $i = 0; $i < 3000; $i++) {
        $x = ($x * 31 + $i) & 0xffff;
    }
    return $x;
}

sub leaf_plain { return use_time('plain') }
sub call_plain { return leaf_plain(@_) }

sub recurse {
    my ($depth) = @_;
    return $depth ? recurse($depth - 1) + 1 : use_time('recursion');
}

sub odd { my ($n) = @_; return $n ? even($n - 1) : use_time('odd') }
sub even { my ($n) = @_; return $n ? odd($n - 1) : use_time('even') }

sub target { return use_time('goto') }
sub call_goto { goto &target }
sub größe { return use_time('umlauts') }

sub call_closures {
    my $times = 2;
    my $closure = sub { return use_time('closure') * $times };
    $closure->();
    my $outer = sub { return sub { return use_time('inner_closure') } };
    $outer->()->();
    &$closure;
    use feature 'lexical_subs';
    no warnings;
    my sub hidden { return use_time('lexical') }
    hidden();
}
*alias = \&leaf_plain;
*unnamed = sub { return use_time('unnamed') };
sub call_globs { alias(); unnamed() }

package Base {
    sub new { my ($class) = @_; main::use_time('constructor'); return bless {value => 1}, $class }
    sub inherited { return main::use_time('inherited') }
    sub overridden { return main::use_time('overridden') }
    our $AUTOLOAD;
    sub AUTOLOAD { my $name = $AUTOLOAD; return main::use_time('autoload') }
    sub DESTROY { main::use_time('destructor') }
}

package Made {
    our @ISA = ('Base');
    use overload
        '+' => sub { return main::use_time('plus') },
        '""' => \&to_string,
        '<=>' => 'compare',
        'bool' => sub { return 1 };
    sub to_string { return 'made ' . main::use_time('to_string') }
    sub compare { my $x = eval { main::use_time('eval_in_overload') }; main::use_time('after_eval_in_overload'); return 0 }
    sub overridden { my ($self) = @_; return $self->SUPER::overridden() }
}

sub call_object {
    my $made = Made->new();
    $made->inherited();
    $made->overridden();
    $made->missing();
    my $method = 'inherited';
    $made->$method();
    my $sum = $made + 1;
    my $text = "text $made";
    my $compared = $made <=> 2;
    my @sorted = sort { $a <=> $b } $made, 3;
    undef $made;
}

package Tied {
    sub TIESCALAR { my ($class) = @_; return bless [], $class }
    sub FETCH { return main::use_time('fetch') }
    sub STORE { my $got = eval { main::use_time('eval_in_store') }; return main::use_time('after_eval_in_store') }
    sub TIEHASH { my ($class) = @_; return bless {}, $class }
    sub EXISTS { return main::use_time('exists') }
    sub TIEHANDLE { my ($class) = @_; return bless {}, $class }
    sub PRINT { return main::use_time('print') }
}

sub call_tied {
    tie my $scalar, 'Tied';
    my $fetched = $scalar;
    $scalar = 1;
    tie my %hash, 'TiedHash';
    my $there = exists $hash{a};
    tie *HANDLE, 'Tied';
    print HANDLE 'text';
    untie *HANDLE;
}
@TiedHash::ISA = ('Tied');

sub by_use { use_time('sort_named'); return $a <=> $b }
sub by_prototype($$) { my ($left, $right) = @_; use_time('sort_prototype'); return $left <=> $right }
sub compare { use_time('sort_last'); return $_[0] <=> $_[1] }

sub call_sorts {
    my @sorted = sort { use_time('sort_block'); $a <=> $b } 2, 1;
    @sorted = sort { compare($a, $b) } 2, 1;
    @sorted = sort by_use 2, 1;
    @sorted = sort by_prototype 2, 1;
    my $sub = sub { use_time('sort_closure'); return $a <=> $b };
    @sorted = sort $sub 2, 1;
    @sorted = sort { eval { use_time('eval_in_sort') }; use_time('after_eval_in_sort'); $a <=> $b } 2, 1;
    @sorted = sort { my @inner = sort { use_time('sort_in_sort'); $a <=> $b } 4, 3; $a <=> $b } 2, 1;
}

sub call_blocks {
    my @mapped = map { use_time('map') } 1;
    @mapped = grep { use_time('grep') } 1;
    for my $item (1) { use_time('for') }
    my $text = 'abc';
    $text =~ s/b/use_time('substitution')/e;
    'a' =~ /a(?{ use_time('regexp') })/;
    my $regexp = qr/b(?{ use_time('quoted_regexp') })/;
    'ab' =~ /a$regexp/;
    do { use_time('do') };
}

use List::Util ();

sub is_first { use_time('first_named'); return 1 }

sub call_list_util {
    List::Util::first { use_time('first'); 1 } 1;
    List::Util::any { is_any($_) } 1;
    List::Util::reduce { use_time('reduce') } 1, 2;
    &List::Util::first(\&is_first, 1);
    List::Util::first { eval { use_time('eval_in_first') }; use_time('after_eval_in_first'); 1 } 1;
    List::Util::first { eval { die "expected\n" }; use_time('after_die_in_first'); 1 } 1;
    List::Util::first { List::Util::first { eval { use_time('first_in_first') } } 1 } 1;
    List::Util::sum(Made::->Base::new(), 1);
}
sub is_any { use_time('any'); return 1 }

sub call_evals {
    eval { use_time('eval') };
    eval { eval { use_time('eval_in_eval') } };
    eval q{use_time('eval_text')};
    eval q{BEGIN { use_time('begin') }};
    eval { fail(3) };
    use_time('after_die');
    made();
    Sub::Package::made();
}

sub fail {
    my ($depth) = @_;
    my $object = bless [], 'Left';
    fail($depth - 1) if $depth;
    die "expected\n";
}
sub Left::DESTROY { use_time('unwound') }

eval q{
sub made { return use_time('made') }
package Sub::Package;
sub made { return main::use_time('made_in_package') }
1} or die;

sub call_handlers {
    local $SIG{__DIE__} = sub { use_time('die_handler') };
    local $SIG{__WARN__} = \&warn_handler;
    eval { die "expected\n" };
    warn "expected\n";
    local $SIG{USR1} = sub { use_time('signal') };
    kill 'USR1', $$;
    my $after = 1;
}
sub warn_handler { use_time('warn_handler') }

sub call_files {
    require "$folder/Required.pm";
    delete $INC{"$folder/Required.pm"};
    do "$folder/done.pl";
    eval q{use Imported; 1} or die;
    delete $INC{'Imported.pm'};
}

sub write_file {
    my ($name, $text) = @_;
    open my $file, '>', "$folder/$name" or die;
    print $file $text;
    close $file;
}

our $nowhere;
format Page =
@<<<<<<<<<
use_time('format')
.

sub call_format {
    my $old = select($nowhere);
    $~ = 'Page';
    write;
    select($old);
}

# What is not with every Perl.
my $has_dumper = eval { require Data::Dumper; 1 };
my $has_storable = eval { require Storable; 1 };
sub Frozen::STORABLE_freeze { use_time('freeze'); return 'frozen' }
sub Frozen::STORABLE_thaw { use_time('thaw'); return }

sub call_libraries {
    if ($has_dumper) {
        local $Data::Dumper::Sortkeys = sub { use_time('sort_keys'); return [sort keys %{$_[0]}] };
        Data::Dumper->Dump([{a => 1}]);
    }
    Storable::thaw(Storable::freeze(bless {}, 'Frozen')) if $has_storable;
}

if ($] >= 5.036) {
    eval q{
        no warnings;
        use feature qw(try defer);
        sub call_try { try { use_time('try') } catch ($error) { } defer { use_time('defer') } return 1 }
        1} or die;
} else {
    eval q{sub call_try { return 1 } 1};
}

sub run {
    my ($seconds) = @_;
    my $end = (times)[0] + $seconds;
    while ((times)[0] < $end) {
        call_plain(1, 2);
        recurse(60);
        odd(11);
        call_goto();
        größe();
        call_closures();
        call_globs();
        call_object();
        call_tied();
        call_sorts();
        call_blocks();
        call_list_util();
        call_evals();
        call_handlers();
        call_files();
        call_format();
        call_libraries();
        call_try();
    }
}

sub run_thread {
    my ($seconds) = @_;
    $in_thread = 1;
    my $end = (times)[0] + $seconds;
    while ((times)[0] < $end) {
        use_time('thread');
        my @sorted = sort { use_time('sort_in_thread'); $a <=> $b } 2, 1;
    }
}

use Config;
mkdir $folder or die;
unshift @INC, $folder;
write_file('Required.pm', "main::use_time('required');\n1;\n");
write_file('done.pl', "\nmain::use_time('done');\n");
write_file('Imported.pm', "package Imported;\nmain::use_time('used');\nsub import { main::use_time('import') }\n1;\n");
open $nowhere, '>', '/dev/null' or die;
run($ARGV[0]);
if ($Config{useithreads} && eval { require threads; 1 }) {
    threads->create('run_thread', $ARGV[0] / 10)->join();
}
unlink "$folder/$_" for qw(Required.pm done.pl Imported.pm);
rmdir $folder;
END { use_time('end') for 1 .. 200 }
